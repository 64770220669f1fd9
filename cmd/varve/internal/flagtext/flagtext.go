// SPDX-License-Identifier: Apache-2.0

// Package flagtext defines flags whose text is checked as soon as it is read.
package flagtext

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/internal/cf"
)

// value is a flag value that is checked when it is set. Text that cannot fit any array
// is a usage error.
type value struct {
	text  *string
	check func(string) error
}

func (c value) Set(s string) error {
	if err := c.check(s); err != nil && !errors.Is(err, zarr.ErrUnsupported) { // unsupported values fail later, with status 1
		return err
	}
	*c.text = s
	return nil
}

// String returns "" for the zero value, on which pflag calls it.
func (c value) String() string {
	if c.text == nil {
		return ""
	}
	return *c.text
}

func (c value) Type() string { return "string" }

// Var defines a flag whose text must pass check.
func Var(f *pflag.FlagSet, p *string, name, initial, usage string, check func(string) error) {
	*p = initial
	f.Var(value{p, check}, name, usage)
}

// VarP is Var with a short name.
func VarP(f *pflag.FlagSet, p *string, name, short, usage string, check func(string) error) {
	f.VarP(value{p, check}, name, short, usage)
}

// Takes reports whether v, the value of a flag, accepts a text.
func Takes(v pflag.Value, text string) bool {
	c, ok := v.(value)
	return !ok || c.check(text) == nil
}

// Needed returns a check that refuses empty text. meaning names the value in the error.
func Needed(meaning string) func(string) error {
	return func(s string) error {
		if s == "" {
			return fmt.Errorf("%s is missing: is a shell variable not set?", meaning)
		}
		return nil
	}
}

// Syntax returns a check that accepts what parse accepts.
func Syntax[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

// OneOf returns a check that accepts one of several words.
func OneOf(words ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(words, s) {
			return nil
		}
		hint := ""
		// A question that repeats every word of the list would not help.
		if near := spelling.Nearest(s, words); len(near) < len(words) {
			hint = spelling.Meant(s, words)
		}
		return fmt.Errorf("it must be %s or %s%s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1], hint)
	}
}

// Policy returns a check that accepts one of several words. A word that ends in ":" must
// be followed by more.
func Policy(words ...string) func(string) error {
	return func(s string) error {
		for _, w := range words {
			if open := strings.HasSuffix(w, ":"); s == w && !open || open && len(s) > len(w) && strings.HasPrefix(s, w) {
				return nil
			}
		}
		name, rest, colon := strings.Cut(s, ":")
		if colon {
			name += ":"
		}
		if near := spelling.Nearest(name, words); len(near) == 1 && (rest != "" || !strings.HasSuffix(near[0], ":")) {
			return fmt.Errorf("it is none of %s (did you mean %s?)", strings.Join(words, ", "), near[0]+rest)
		}
		return fmt.Errorf("it must be one of %s", strings.Join(words, ", "))
	}
}

// Exclusive returns a usage error if more than one of the named flags is set.
func Exclusive(cmd *cobra.Command, names ...string) error {
	var given []string
	for _, n := range names {
		if cmd.Flags().Changed(n) {
			given = append(given, "--"+n)
		}
	}
	if len(given) > 1 {
		return failure.BadUsage("%s exclude each other", strings.Join(given, " and "))
	}
	return nil
}

// proposals is the annotation of a flag with the words that shells complete.
const proposals = "varve_proposals"

// Propose defines words that shells complete for the value of a flag; see [Completions].
func Propose(c *cobra.Command, flag string, words ...string) {
	// The only possible error is that the flag does not exist.
	_ = c.Flags().SetAnnotation(flag, proposals, words)
}

// Completions makes package cobra complete the proposed words of all flags of a command
// and of those below it. Only a program that answers a shell calls it: package cobra
// keeps completions, and all that they lead to, for ever.
func Completions(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if words := f.Annotations[proposals]; len(words) > 0 {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
		}
	})
	for _, below := range c.Commands() {
		Completions(below)
	}
}

// ParseDuration parses a duration of 0 or more: as Go has them, such as 90s or 1h30m, or
// with days and weeks, such as 7d, 2w or 1d12h. A day has 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = wholeDays(text)
	}
	if err != nil && strings.TrimSpace(text) != "" {
		var n float64
		if n, err = cf.ParseDuration(text); err == nil && math.Abs(n) >= math.MaxInt64 {
			return 0, fmt.Errorf("%q is longer than 292 years", phrase.Shorten(text, 40))
		}
		d = time.Duration(math.Round(n))
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 30s, 15m, 6h, 7d or 2w", phrase.Shorten(text, 40))
	case d < 0:
		return 0, fmt.Errorf("%q is negative: want 0 or more", phrase.Shorten(text, 40))
	}
	return d, nil
}

var daysAndRest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:(\d{1,5})w)?(?:(\d{1,6})d)?(.*)$`) })

// wholeDays parses whole weeks and days before a duration of Go. It is exact, where a
// float64 has no nanoseconds beyond 104 days.
func wholeDays(text string) (time.Duration, error) {
	m := daysAndRest().FindStringSubmatch(text)
	weeks, _ := strconv.Atoi(cmp.Or(m[1], "0"))
	days, _ := strconv.Atoi(cmp.Or(m[2], "0"))
	rest, err := time.ParseDuration(cmp.Or(m[3], "0s"))
	const day = 24 * time.Hour
	if n := 7*weeks + days; err != nil || n == 0 || rest < 0 || rest > day || n >= int(math.MaxInt64/day) {
		return 0, errors.Join(err, errNoWholeDays)
	}
	return time.Duration(7*weeks+days)*day + rest, nil
}

var errNoWholeDays = errors.New("no whole days")

// duration is the value of a flag for a duration.
type duration struct{ d *time.Duration }

func (v *duration) Set(text string) error {
	d, err := ParseDuration(text)
	if err == nil {
		*v.d = d
	}
	return err
}

func (v *duration) Type() string { return "duration" }

// String returns "" for the zero value, on which pflag calls it.
func (v *duration) String() string {
	if v.d == nil || *v.d == 0 {
		return ""
	}
	return phrase.Duration(*v.d)
}

// Duration defines a flag for a duration. An initial 0 is not shown in the help.
func Duration(f *pflag.FlagSet, p *time.Duration, name string, initial time.Duration, usage string) {
	*p = initial
	f.Var(&duration{p}, name, usage)
}

// DurationOf returns the value of a flag that [Duration] has defined, and whether it was
// given.
func DurationOf(f *pflag.Flag) (d time.Duration, given bool) {
	v, ok := f.Value.(*duration)
	if !ok || !f.Changed {
		return 0, false
	}
	return *v.d, true
}
