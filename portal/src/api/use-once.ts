import { useRef } from 'react';
import { isAnswerLost } from './call.ts';

/**
 * Whoever tries again after the answer was lost, with the same input, sends the same body with the same Idempotency-Key, and
 * gets what was made. `toBody`: if the body is not the input; it may depend on the time.
 */
export function useOnce<Body, Output, Input = Body>(
  create: (body: Body, idempotencyKey: string) => Promise<Output>,
  toBody: (input: Input) => Body = (input) => input as unknown as Body,
): (input: Input) => Promise<Output> {
  const lost = useRef<{ content: string; body: Body; key: string } | null>(null);
  return async (input) => {
    const content = JSON.stringify(input);
    const sent =
      lost.current?.content === content
        ? lost.current
        : {
            content,
            body: toBody(input),
            key: crypto.getRandomValues(new Uint32Array(4)).join('-'),
          };
    try {
      const made = await create(sent.body, sent.key);
      lost.current = null;
      return made;
    } catch (error) {
      lost.current = isAnswerLost(error) ? sent : null;
      throw error;
    }
  };
}
