// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"strings"
	"testing"
	"unicode"
)

// junction returns the index of the character with the given lines.
func junction(up, right, down, left int) int { return 27*up + 9*right + 3*down + left }

func TestUnicodeJunctions(t *testing.T) {
	if n := len(unicodeText.junctions); n != 81 {
		t.Fatalf("%d characters", n)
	}
	seen := map[rune]int{}
	for i, r := range unicodeText.junctions {
		if before, ok := seen[r]; ok {
			t.Errorf("%c stands for %d and for %d", r, before, i)
		}
		seen[r] = i
		if i > 0 && (r < 0x2500 || r > 0x257f) {
			t.Errorf("%c is no line", r)
		}
	}
	tests := map[rune]int{
		'┏': junction(0, 2, 2, 0), '┓': junction(0, 0, 2, 2), '┗': junction(2, 2, 0, 0), '┛': junction(2, 0, 0, 2),
		'┠': junction(2, 1, 2, 0), '┨': junction(2, 0, 2, 1), '┯': junction(0, 2, 1, 2), '┷': junction(1, 2, 0, 2),
		'┼': junction(1, 1, 1, 1), '│': junction(1, 0, 1, 0), '─': junction(0, 1, 0, 1), '╋': junction(2, 2, 2, 2),
		'┱': junction(0, 1, 2, 2), '┹': junction(2, 1, 0, 2), '╂': junction(2, 1, 2, 1), '┿': junction(1, 2, 1, 2),
	}
	for r, i := range tests {
		if got := unicodeText.junctions[i]; got != r {
			t.Errorf("character %d is %c, want %c", i, got, r)
		}
	}
}

// TestASCIIJunctions checks that the characters show the directions of the lines.
func TestASCIIJunctions(t *testing.T) {
	if n := len(asciiText.junctions); n != 81 {
		t.Fatalf("%d characters", n)
	}
	for i, r := range asciiText.junctions {
		upright, level := i/27 > 0 || i/3%3 > 0, i/9%3 > 0 || i%3 > 0
		want := map[[2]bool]string{{false, false}: " ", {true, false}: "|", {false, true}: "-=", {true, true}: "+"}[[2]bool{upright, level}]
		if r > unicode.MaxASCII || !strings.ContainsRune(want, r) {
			t.Errorf("character %d is %c, want one of %q", i, r, want)
		}
	}
}
