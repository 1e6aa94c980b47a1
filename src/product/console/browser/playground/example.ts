const EXAMPLE_SIZE = { width: 1_600, height: 1_200 };

/** Draws an example picture on which most ops have a visible effect: a sky, edges, fine lines and a word. */
export async function drawExample(): Promise<Blob> {
  const { width, height } = EXAMPLE_SIZE;
  const canvas = document.createElement('canvas');
  Object.assign(canvas, EXAMPLE_SIZE);
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser cannot draw.');
  const sky = context.createLinearGradient(0, 0, 0, height);
  for (const [at, colour] of [
    [0, '#22304f'],
    [0.45, '#d9694a'],
    [0.62, '#f6c177'],
    [0.63, '#28425c'],
    [1, '#101a2b'],
  ] as const)
    sky.addColorStop(at, colour);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = '#fff1d0';
  context.beginPath();
  context.arc(width * 0.68, height * 0.5, 120, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = '#1a2238';
  for (let peak = 0; peak < 5; peak += 1) {
    const x = peak * 380 - 120;
    const top = height * (0.34 + 0.07 * ((peak * 3) % 4));
    context.beginPath();
    context.moveTo(x, height * 0.63);
    context.lineTo(x + 260, top);
    context.lineTo(x + 560, height * 0.63);
    context.fill();
  }
  context.strokeStyle = 'rgb(255 241 208 / 0.5)';
  for (let line = 0; line < 60; line += 1) {
    const y = height * 0.65 + line * line * 0.12;
    context.lineWidth = 1 + line / 20;
    context.beginPath();
    context.moveTo(width * 0.68 - 60 - line * 5, y);
    context.lineTo(width * 0.68 + 60 + line * 5, y);
    context.stroke();
  }
  context.fillStyle = '#fff1d0';
  context.font = '600 96px system-ui, sans-serif';
  context.fillText('Darkroom', 90, 190);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.94));
  if (blob === null) throw new Error('This browser cannot write a JPEG.');
  return blob;
}
