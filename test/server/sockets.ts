/** Raw connections to a server. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Opens a connection and sends `text`. */
export async function open(port: number, text: string | Uint8Array = ""): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  socket.on("end", () => socket.end());
  await once(socket, "connect");
  if (text.length > 0) socket.write(text);
  return socket;
}

/** What the server sends until it closes the connection. */
export async function received(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (data) => {
    text += data;
  });
  if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

export const portOf = (url: string): number => Number(new URL(url).port);
