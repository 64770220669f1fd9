// SPDX-License-Identifier: Apache-2.0

// Package flagtext defines flags whose text is checked as soon as it is read.
package flagtext

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/spelling"
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

// Propose defines words that shells complete for the value of a flag.
func Propose(c *cobra.Command, flag string, words ...string) {
	// The only possible error is that the flag does not exist.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}
