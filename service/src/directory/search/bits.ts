/** Sets of small numbers: a bit for each. */

/** The length of a set of the numbers below `size`. */
export function bitsFor(size: number): number {
  return Math.ceil(size / 32);
}

export function hasBit(bits: Uint32Array, number: number): boolean {
  return (((bits[number >>> 5] as number) >>> (number & 31)) & 1) === 1;
}

export function setBit(bits: Uint32Array, number: number, value: boolean): void {
  const index = number >>> 5;
  const bit = 1 << (number & 31);
  bits[index] = value ? (bits[index] as number) | bit : (bits[index] as number) & ~bit;
}

/** The number of ones in 32 bits. */
export function countOnes(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The number of ones in a set. */
export function countBits(bits: Uint32Array): number {
  let count = 0;
  for (const each of bits) count += countOnes(each);
  return count;
}

/** The numbers of a set, in ascending order. */
export function numbersIn(bits: Uint32Array): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(countBits(bits));
  let count = 0;
  for (let index = 0; index < bits.length; index += 1)
    for (let left = bits[index] as number; left !== 0; left &= left - 1)
      numbers[count++] = index * 32 + 31 - Math.clz32(left & -left);
  return numbers;
}

/** A set for the numbers below `size`. */
export function setOf(numbers: Uint32Array, size: number): Uint32Array {
  const bits = new Uint32Array(bitsFor(size));
  for (const number of numbers) setBit(bits, number, true);
  return bits;
}
