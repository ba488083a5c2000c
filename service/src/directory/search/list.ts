/** A list of numbers that leaves no copies behind while it grows. */
export function createList() {
  let numbers = new Uint32Array(1024);
  let length = 0;
  const resize = (room: number) => {
    numbers = new Uint32Array(numbers.buffer.transfer(room * numbers.BYTES_PER_ELEMENT));
  };
  return {
    get length() {
      return length;
    },
    push(number: number): void {
      if (length === numbers.length) resize(2 * length);
      numbers[length] = number;
      length += 1;
    },
    take(): Uint32Array {
      resize(length);
      return numbers;
    },
  };
}
