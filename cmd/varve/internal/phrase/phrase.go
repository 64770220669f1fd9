// SPDX-License-Identifier: Apache-2.0

// Package phrase formats numbers, sizes, shapes and names for people, and breaks text
// into lines. Messages, tables and help share it.
package phrase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
	"varve.dev/zarr/internal/quantity"
)

// Word quotes a location for a shell if it needs quotes.
func Word(location string) string {
	if !strings.ContainsAny(location, " \"'`$&|;<>()*?[]{}!#\\") && !strings.ContainsFunc(location, unicode.IsControl) {
		return location
	}
	return "'" + strings.ReplaceAll(location, "'", `'\''`) + "'"
}

// Compact returns JSON without white space.
func Compact(raw []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}

// Shorten returns s, cut to n characters if it is longer.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	kept, runes := 0, 0 // bytes of all characters that fit, but for the last
	for i := range s {
		switch runes++; runes {
		case n:
			kept = i
		case n + 1:
			return s[:kept] + "…"
		}
	}
	return s
}

// Printable writes characters that could take over a terminal, and bytes that are no
// text, as in Go.
func Printable(s string) string {
	if !strings.ContainsFunc(s, isHidden) {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if isHidden(r) && (r != utf8.RuneError || n == 1) {
			quoted := strconv.Quote(rest[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return b.String()
}

// isHidden reports whether a terminal does not show r, or r stands for bytes that are no
// text.
func isHidden(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }

// Name returns the name of a node, in quotes if it does not show what it is.
func Name(name string) string {
	if strings.ContainsFunc(name, isHidden) || strings.ContainsAny(name, `"\`) || name != strings.TrimSpace(name) {
		return strconv.Quote(name)
	}
	return name
}

// Flow breaks a paragraph into lines of at most width characters; longer words stay
// whole. The first line begins with first, the others with rest.
func Flow(text string, width int, first, rest string) string {
	var b strings.Builder
	b.WriteString(first)
	at, begun := utf8.RuneCountInString(first), false
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case begun && at+1+n > width:
			b.WriteString("\n" + rest)
			at = utf8.RuneCountInString(rest)
		case begun:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at, begun = at+n, true
	}
	return b.String()
}

// AreOrIs returns the verb for n things.
func AreOrIs(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Count returns a number with commas between thousands.
func Count(n int64) string { return quantity.Number(n) }

// Plural returns n with a noun: 1 chunk, 2,000 chunks, 3 axes, 4 entries.
func Plural(n int64, noun string) string { return quantity.Of(n, noun) }

// Bytes returns a number of bytes with a unit: 512 B, 1.5 KiB, 20 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n)/1024, 0
	// 1023.5 KiB would be rounded to 1024 KiB.
	for size >= 1023.5 && unit < len("KMGTPE")-1 {
		size, unit = size/1024, unit+1
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %ciB", size, "KMGTPE"[unit])
}

// ErrNoSize reports a text that is not a number with a unit.
var ErrNoSize = errors.New("give a number with a unit, as 8MiB or 500kB")

// sizeText is a number and a unit: 8MiB, 1.5 GiB, 500kB, 100 B.
var sizeText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKMGTPE]?)(i?)B$`) })

// ParseSize parses a number of bytes such as 8MiB. KiB, MiB … are powers of 1024, kB, MB
// … of 1000. It returns ErrNoSize if text is not a number with a unit.
func ParseSize(text string) (int64, error) {
	m := sizeText().FindStringSubmatch(strings.TrimSpace(text))
	// iB is no unit.
	if m == nil || m[2] == "" && m[3] != "" {
		return 0, ErrNoSize
	}
	number, _ := new(big.Rat).SetString(m[1]) // the pattern matches numbers only
	base := int64(1000)
	if m[3] != "" {
		base = 1024
	}
	if m[2] != "" {
		power := int64(strings.Index("KMGTPE", strings.ToUpper(m[2])) + 1)
		number.Mul(number, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(power), nil)))
	}
	bytes := new(big.Int).Quo(number.Num(), number.Denom())
	if !bytes.IsInt64() || bytes.Sign() == 0 {
		return 0, fmt.Errorf("%s: at least 1 B and less than 8 EiB are possible", text)
	}
	return bytes.Int64(), nil
}

// oddSize matches sizes with a misspelled unit: 8Mb, 8M, 512k.
var oddSize = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+(?:\.\d+)?) ?([kKmMgGtT])(i?)[bB]?$`) })

// SizeMeant returns a question with the right spelling of a misspelled size, or "".
func SizeMeant(text string) string {
	m := oddSize().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	for _, unit := range []string{strings.ToUpper(m[2]) + m[3] + "B", strings.ToLower(m[2]) + m[3] + "B", strings.ToUpper(m[2]) + "iB"} {
		if _, err := ParseSize(m[1] + unit); err == nil && m[1]+unit != text {
			return fmt.Sprintf(" (did you mean %s?)", m[1]+unit)
		}
	}
	return ""
}

// Index returns an index in parentheses: (15, 40).
func Index(index []int64) string {
	parts := make([]string, len(index))
	for i, n := range index {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// Shape returns lengths as 1,826 × 36 × 72, or "scalar" if there are none.
func Shape(shape []int64) string {
	if len(shape) == 0 {
		return "scalar"
	}
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = Count(n)
	}
	return strings.Join(parts, " × ")
}

// Chunks returns the chunk lengths of all axes in short: 365×4, 366 | 36 | 72.
func Chunks(g *grid.Grid) string {
	parts := make([]string, g.Rank())
	for i := range parts {
		parts[i] = draw.Sizes(g.Axis(i))
	}
	return strings.Join(parts, " | ")
}

// muchPadding is how many elements a chunk must have for each one that is in the array,
// and mostUnnoted how many more it may have, before [Padding] notes it.
const (
	muchPadding = 4
	mostUnnoted = 1 << 18
)

// Padding returns a note if the chunks of a regular grid are much longer than the array:
// they are stored and read with all their elements. option is what takes better chunks,
// such as "varve rechunk --chunks".
func Padding(g *grid.Grid, option string) []string {
	times, excess, better := padding(g)
	if better == "" {
		return nil
	}
	return []string{fmt.Sprintf("a chunk is stored and read with %.0f times the elements that the array has there (%s): unless it will grow that far, chunks of %s are better (%s %[3]s)",
		times, excess, better, option)}
}

// BetterChunks returns the chunks that the note of [Padding] proposes, or "".
func BetterChunks(g *grid.Grid) string {
	_, _, better := padding(g)
	return better
}

// padding returns how many elements a chunk has for each one that is in the array, where
// the chunks are too long, and better chunks. better is "" if they are not too long.
func padding(g *grid.Grid) (times float64, excess, better string) {
	if !g.IsRegular() {
		return 0, "", ""
	}
	stored, used := 1.0, 1.0
	var long []string
	without := make([]string, g.Rank())
	for i := range without {
		a := g.Axis(i)
		edge := a.Longest(grid.Interval{Stop: a.Chunks()})
		n := min(edge, a.Extent())
		stored, used = stored*float64(edge), used*float64(n)
		without[i] = strconv.FormatInt(n, 10)
		if n < edge {
			long = append(long, fmt.Sprintf("%d of %d along axis %d", n, edge, i))
		}
	}
	if used == 0 || stored < muchPadding*used || stored-used < mostUnnoted {
		return 0, "", ""
	}
	return stored / used, strings.Join(long, ", "), strings.Join(without, ",")
}

// Duration returns a duration without units that are zero, such as 90s as 1m30s, 24h or
// 10ms. Two days and more are in days: 7d or 2d12h.
func Duration(d time.Duration) string {
	text := ""
	if d >= 48*time.Hour {
		days := d / (24 * time.Hour)
		if d -= days * 24 * time.Hour; d == 0 {
			return fmt.Sprintf("%dd", days)
		}
		text = fmt.Sprintf("%dd", days)
	}
	rest := d.String()
	if strings.HasSuffix(rest, "m0s") {
		rest = strings.TrimSuffix(rest, "0s")
	}
	if strings.HasSuffix(rest, "h0m") {
		rest = strings.TrimSuffix(rest, "0m")
	}
	return text + strings.TrimPrefix(strings.TrimPrefix(rest, "0h"), "0m")
}

// Seconds returns a duration in seconds as people read it.
func Seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return Duration(d.Round(time.Second))
}
