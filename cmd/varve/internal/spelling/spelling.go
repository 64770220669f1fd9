// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the known words that an unknown word may be a misspelling of.
package spelling

import (
	"slices"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// Meant returns a question such as " (did you mean time?)" for an unknown word, or "" if
// no known word is near.
func Meant(word string, known []string) string {
	if near := Nearest(word, known); len(near) > 0 {
		for i, word := range near {
			near[i] = phrase.Word(word)
		}
		return " (did you mean " + strings.Join(near, " or ") + "?)"
	}
	return ""
}

// Most bounds the words that Nearest returns.
const Most = 3

// leastBegun is the least length of a word that may be the beginning of a longer one.
const leastBegun = 3

// Nearest returns the known words that are nearest to word: those that differ by the
// fewest letters, up to a third of them. If there are none, it returns words that begin
// with word, or that are the beginning of word, such as lat for latitude.
func Nearest(word string, known []string) []string {
	var near []string
	least := max(1, len([]rune(word))/3)
	for _, k := range known {
		d := Distance(strings.ToLower(word), strings.ToLower(k))
		if k == "" || k == word || d > least || len(near) > 0 && d == least && slices.Contains(near, k) {
			continue
		}
		if d < least {
			near, least = nil, d
		}
		near = append(near, k)
	}
	// One letter begins too many words.
	if len(near) == 0 && len(word) > 1 {
		for _, k := range known {
			if strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)) && k != word {
				near = append(near, k)
			}
		}
	}
	if len(near) == 0 {
		for _, k := range known {
			if len(k) >= leastBegun && strings.HasPrefix(strings.ToLower(word), strings.ToLower(k)) && k != word {
				near = append(near, k)
			}
		}
	}
	return near[:min(len(near), Most)]
}

// longestMeant bounds the length of compared words, because the cost is the product of
// the lengths.
const longestMeant = 200

// Distance returns how many letters must be changed, inserted, deleted or swapped with
// their neighbour to turn one word into the other.
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > longestMeant || len(y) > longestMeant {
		return longestMeant
	}
	var older []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			change := 1
			if x[i] == y[j] {
				change = 0
			}
			next[j+1] = min(last[j]+change, last[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], older[j-1]+1)
			}
		}
		older, last = last, next
	}
	return last[len(y)]
}
