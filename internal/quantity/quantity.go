// SPDX-License-Identifier: Apache-2.0

// Package quantity writes numbers of things in messages.
package quantity

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Number returns n with commas between groups of three digits.
func Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	// No comma follows the sign.
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Of returns n with a noun: 1 chunk, 2,000 chunks, 3 axes, 4 entries.
func Of(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun == "axis":
		return Number(n) + " axes"
	case noun == "entry":
		return Number(n) + " entries"
	case strings.HasSuffix(noun, "s"):
		return Number(n) + " " + noun + "es"
	}
	return Number(n) + " " + noun + "s"
}

// singulars are those of words that do not just lose the s of a plural, or get that of a
// verb.
var singulars = map[string]string{
	"axes": "axis", "entries": "entry", "indices": "index", "policies": "policy", "tries": "try",
	"are": "is", "cannot": "cannot", "do": "does", "have": "has", "were": "was",
}

// verbs are those that [Count] knows behind a noun.
var verbs = strings.Fields("are cannot differ do encode fill follow have leave need stand take were")

// Count returns n, without commas, with a plural noun or its singular: 1 axis, 2 axes,
// 1 inner chunk. A verb may follow the noun: 1 byte is, 2 bytes are. It is for messages
// about numbers that were read, of which hardly one is a 1.
func Count[N ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](n N, plural string) string {
	if n != 1 {
		return fmt.Sprint(n, " ", plural)
	}
	words := strings.Fields(plural)
	last := len(words) - 1
	if slices.Contains(verbs, words[last]) {
		words[last] = cmp.Or(singulars[words[last]], words[last]+"s")
		last--
	}
	words[last] = cmp.Or(singulars[words[last]], strings.TrimSuffix(words[last], "s"))
	return "1 " + strings.Join(words, " ")
}

// Be returns the verb for n things.
func Be(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Bytes returns a number of bytes with a unit: 12 bytes, 1.5 KiB.
func Bytes(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if n < 1<<10 {
		return Of(n, "byte")
	}
	x, i := float64(n)/(1<<10), 0
	// From this value on, rounding would print 1024.0.
	for x >= 1023.95 && i < len(units)-1 {
		x, i = x/(1<<10), i+1
	}
	return strconv.FormatFloat(x, 'f', 1, 64) + " " + units[i]
}

// List joins the texts that are not empty with commas.
func List(texts ...string) string {
	var list []string
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return strings.Join(list, ", ")
}

// Some returns n with a noun and what has become of the things, or "" for none of them:
// 3 chunks copied.
func Some(n int64, noun, how string) string {
	if n == 0 {
		return ""
	}
	return Of(n, noun) + " " + how
}

// SomeBytes is Some for bytes: 1.5 KiB copied.
func SomeBytes(n int64, how string) string {
	if n == 0 {
		return ""
	}
	return Bytes(n) + " " + how
}
