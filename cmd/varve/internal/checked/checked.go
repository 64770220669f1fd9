// SPDX-License-Identifier: Apache-2.0

// Package checked provides overflow-checked arithmetic for untrusted numbers.
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
// non-negative. A zero makes the product zero, whatever the other values are.
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
