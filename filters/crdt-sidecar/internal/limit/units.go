package limit

import "math/bits"

// mulDivDown is a*b/c rounded down, without overflow between; all are non-negative and c is positive.
func mulDivDown(a, b, c int64) int64 {
	quotient, _ := mulDiv(a, b, c)
	return quotient
}

// mulDivUp is a*b/c rounded up.
func mulDivUp(a, b, c int64) int64 {
	quotient, remainder := mulDiv(a, b, c)
	if remainder > 0 {
		quotient++
	}
	return quotient
}

func mulDiv(a, b, c int64) (int64, uint64) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return maxInt64, 0
	}
	quotient, remainder := bits.Div64(high, low, uint64(c))
	return int64(min(quotient, maxInt64)), remainder
}

const maxInt64 = 1<<63 - 1
