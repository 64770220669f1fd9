// SPDX-License-Identifier: Apache-2.0

// Package checked does overflow-checked arithmetic on untrusted numbers.
package checked

import "math"

// Add returns a+b, and whether it fits. Both must be non-negative.
func Add(a, b int64) (int64, bool) {
	if a < 0 || b < 0 || a > math.MaxInt64-b {
		return 0, false
	}
	return a + b, true
}

// Mul returns a*b, and whether it fits. Both must be non-negative.
func Mul(a, b int64) (int64, bool) {
	if a < 0 || b < 0 || a != 0 && b > math.MaxInt64/a {
		return 0, false
	}
	return a * b, true
}

// Product returns the product of all values, and whether it fits. All must be
// non-negative. A zero makes the product zero, regardless of the other values.
func Product(values ...int64) (int64, bool) {
	p, ok := int64(1), true
	for _, v := range values {
		switch {
		case v < 0:
			return 0, false
		case v == 0:
			return 0, true
		case ok:
			p, ok = Mul(p, v)
		}
	}
	return p, ok
}

// Capped returns the product of all values, or the largest int64 if that overflows. All
// must be non-negative.
func Capped(values ...int64) int64 {
	if p, ok := Product(values...); ok {
		return p
	}
	return math.MaxInt64
}

// CeilDiv returns a/b rounded up. a must be non-negative and b positive.
func CeilDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 {
		q++
	}
	return q
}
