// SPDX-License-Identifier: Apache-2.0

// Package quantity writes numbers of things in messages.
package quantity

import "strconv"

// Number returns n with commas between groups of three digits.
func Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	// No comma follows the sign.
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Of returns n with a noun: 1 chunk, 2,000 chunks, 3 axes.
func Of(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun == "axis":
		return Number(n) + " axes"
	}
	return Number(n) + " " + noun + "s"
}

// Be returns the verb for n things.
func Be(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
