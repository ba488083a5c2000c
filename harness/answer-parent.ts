/** The other side of `ask` (`start-process.ts`). */
export type Question = { id: number; question: object };
export type Answer = { id: number; answer: unknown };

/** Answers what the parent asks, and ends with it. `ready` is what it says when it can be asked. */
export function answerParent<Q>(answer: (question: Q) => unknown, ready: unknown = null): void {
  const say = (message: Answer) => process.send?.(message);
  process.on('message', ({ id, question }: Question) => {
    void Promise.resolve(answer(question as Q)).then((given) => say({ id, answer: given }));
  });
  process.on('disconnect', () => process.exit());
  say({ id: 0, answer: ready });
}
