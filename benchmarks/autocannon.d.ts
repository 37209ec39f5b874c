/** The part of autocannon that the load test uses. */

declare module "autocannon" {
  interface Client {
    setBody(body: string): void;
    on(
      event: "response",
      listener: (status: number, bytes: number, milliseconds: number) => void,
    ): void;
  }
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    /** Seconds. */
    readonly timeout: number;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    setupClient(client: Client): void;
  }
  interface Result {
    readonly errors: number;
    readonly non2xx: number;
    /** Seconds. */
    readonly duration: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
