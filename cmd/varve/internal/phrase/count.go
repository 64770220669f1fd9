// SPDX-License-Identifier: Apache-2.0

package phrase

import "strconv"

// AreOrIs returns the verb for n things.
func AreOrIs(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Count returns a number with commas between thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural returns n with a noun: 1 chunk, 2,000 chunks, 3 axes, 4 entries.
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch noun {
	case "axis":
		return Count(n) + " axes"
	case "entry":
		return Count(n) + " entries"
	}
	return Count(n) + " " + noun + "s"
}
