// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// lineKey is the key of the command line in a context.
type lineKey struct{}

// withLine returns a context that has the words of the command line.
func withLine(ctx context.Context, line []string) context.Context {
	return context.WithValue(ctx, lineKey{}, line)
}

// lineOf returns the words of the command line, in the order in which they were given.
func lineOf(cmd *cobra.Command) []string {
	if cmd.Context() == nil {
		return nil
	}
	line, _ := cmd.Context().Value(lineKey{}).([]string)
	return line
}

// negative finds a number below 0, which no flag is.
var negative = regexp.MustCompile(`^-(\.?[0-9]|Infinity$)`)

// numberLast returns a command line in which the number of attrs NODE set KEY -5 stands
// behind -- at the end: it would be taken for flags otherwise. Any other line stays as
// it is.
func numberLast(line []string) []string {
	if !slices.Contains(line, "attrs") || slices.Contains(line, "--") {
		return line
	}
	for i, word := range line {
		if i < 2 || line[i-2] != "set" || strings.HasPrefix(line[i-1], "-") || !negative.MatchString(word) {
			continue
		}
		return append(slices.Delete(slices.Clone(line), i, i+1), "--", word)
	}
	return line
}

// numberMeant returns how a number below 0 is given to a command that takes it for
// flags, "" for anything else.
func numberMeant(cmd *cobra.Command, flags string) string {
	word := "-" + flags
	if !negative.MatchString(word) {
		return ""
	}
	for _, name := range []string{"value", "select"} {
		if cmd.Flags().Lookup(name) != nil {
			return fmt.Sprintf(" (is --%s %s meant?)", name, word)
		}
	}
	if cmd.Name() == "attrs" { // with a key that looks like a flag, too
		return fmt.Sprintf(" (put -- before the node if %s is the value)", word)
	}
	return ""
}

// singles are the flags that take one value of what a command works with. If they are
// given twice, the first value is not lost silently. Others may be repeated: an alias of
// the shell sets them, and the command line overrides that.
var singles = []string{
	"shape", "dtype", "chunks", "shards", "fill", "codecs", "compressor", "dimension-names", "attributes", "from",
	"select", "value", "axis", "expect", "output", "svg", "locate", "chunk", "chunk-grid", "time", "start", "step",
}

// errTwice refuses the second value of a flag that takes one.
var errTwice = errors.New("it is given twice, and takes one value")

// single is the value of a flag that may be given once.
type single struct {
	pflag.Value
	given bool
}

// Set implements [pflag.Value]. A second value is refused for what is wrong with it, and
// else for being the second one.
func (s *single) Set(text string) error {
	if err := s.Value.Set(text); err != nil {
		return err
	}
	if s.given {
		return errTwice
	}
	s.given = true
	return nil
}

// onlyOnce makes all commands refuse the flags in singles that are given twice. It is not
// for completion, which reads the flags of a line several times.
func onlyOnce(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(singles, f.Name) && f.Value.Type() == "string" {
				f.Value = &single{Value: f.Value}
			}
		})
	}
}

// lists are the flags whose value has commas and no spaces.
var lists = []string{"shape", "chunks", "shards", "expect", "locate", "chunk", "axes", "dimension-names", "select"}

// listContinued returns the flag that an argument goes on which a command does not take,
// with its whole value: the list --chunks 5 5 is --chunks 5,5.
func listContinued(cmd *cobra.Command, extra string) string {
	line := lineOf(cmd)
	for i := 2; i < len(line); i++ {
		if line[i] != extra {
			continue
		}
		flag, value, joined := strings.Cut(line[i-1], "=")
		if !joined || !strings.HasPrefix(flag, "--") {
			flag, value = line[i-2], line[i-1]
		}
		f := cmd.Flags().Lookup(strings.TrimPrefix(flag, "--"))
		if f == nil || !strings.HasPrefix(flag, "--") || !slices.Contains(lists, f.Name) {
			continue
		}
		words := []string{strings.Trim(value, ", ")}
		for _, word := range line[i:] {
			if strings.HasPrefix(word, "-") && !argument.IsNumber(word) {
				break
			}
			words = append(words, strings.Trim(word, ", "))
		}
		if list := strings.Join(words, ","); flagtext.Takes(checkedValue(f), list) {
			return fmt.Sprintf("--%s %s", f.Name, phrase.Word(list))
		}
	}
	return ""
}

// checkedValue returns the value of a flag without the check that it is given once.
func checkedValue(f *pflag.Flag) pflag.Value {
	if s, ok := f.Value.(*single); ok {
		return s.Value
	}
	return f.Value
}
