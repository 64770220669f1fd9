// SPDX-License-Identifier: Apache-2.0

// Package spelling proposes known words for a misspelled one.
package spelling

import (
	"slices"
	"strings"
)

// Meant returns a question such as " (is time meant?)" for an unknown word, or "" if no
// known word is similar.
func Meant(word string, known []string) string {
	if near := Nearest(word, known); len(near) > 0 {
		return " (is " + strings.Join(near, " or ") + " meant?)"
	}
	return ""
}

// Most bounds the words that [Nearest] returns.
const Most = 3

// leastBegun is the minimum length of a known word that is proposed as a prefix of
// word.
const leastBegun = 3

// Nearest returns the known words that differ from word by the fewest letters, and by
// at most a third of them. If there are none, it returns words that begin with word, or
// else words that are a prefix of word, as lat is of latitude.
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

// Distance returns the number of letters to change, insert, delete or swap with their
// neighbour to convert one word to another.
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
