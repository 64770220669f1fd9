// SPDX-License-Identifier: Apache-2.0

// Package usage checks the arguments and flags of a command line, and says what a mistake
// in them may mean.
package usage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/selection"
)

// lineKey is the key of the command line in a context.
type lineKey struct{}

// WithLine returns a context that holds the words of the command line.
func WithLine(ctx context.Context, line []string) context.Context {
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

// negativeNumber matches a negative number, which cannot be a flag.
var negativeNumber = regexp.MustCompile(`^-(\.?[0-9]|Infinity$)`)

// NumberLast moves the number of attrs NODE set KEY -5 to the end of the command line,
// after --. Otherwise it would be parsed as flags. It does not change any other line.
func NumberLast(line []string) []string {
	line = takenNumber(line)
	if !slices.Contains(line, "attrs") || slices.Contains(line, "--") {
		return line
	}
	for i, word := range line {
		if i < 2 || line[i-2] != "set" || strings.HasPrefix(line[i-1], "-") || !negativeNumber.MatchString(word) {
			continue
		}
		return append(slices.Delete(slices.Clone(line), i, i+1), "--", word)
	}
	return line
}

// takenNumber joins --take and the number after it, because package pflag takes the word
// after a flag whose value may be missing for an argument.
func takenNumber(line []string) []string {
	for i, word := range line {
		if word == "--" || i+1 == len(line) {
			break
		}
		if _, err := strconv.ParseInt(line[i+1], 10, 64); word == "--take" && err == nil {
			return append(slices.Clone(line[:i]), slices.Concat([]string{word + "=" + line[i+1]}, line[i+2:])...)
		}
	}
	return line
}

// numberMeant returns a hint for a negative number that was parsed as flags, and "" for
// anything else.
func numberMeant(cmd *cobra.Command, flags string) string {
	word := "-" + flags
	if !negativeNumber.MatchString(word) {
		return ""
	}
	for _, name := range []string{"value", "select"} {
		if cmd.Flags().Lookup(name) != nil {
			return fmt.Sprintf(" (did you mean --%s %s?)", name, word)
		}
	}
	if cmd.Name() == "attrs" { // the key also looks like a flag
		return fmt.Sprintf(" (put -- before NODE if %s is the value)", word)
	}
	return ""
}

// singleFlags are the flags that may not be repeated, because the first value would be
// lost silently. Other flags may: a shell alias may set them, and the command line
// overrides it.
var singleFlags = []string{
	"shape", "dtype", "chunks", "shards", "fill", "codecs", "compressor", "dimension-names", "attributes", "from",
	"select", "value", "axis", "expect", "output", "svg", "locate", "chunk", "chunk-grid", "time", "start", "step",
}

// errTwice is the error for a flag of singleFlags that is given twice.
var errTwice = errors.New("it is given twice, but takes one value")

// single is the value of a flag that may be given once.
type single struct {
	pflag.Value
	given bool
}

// Set implements [pflag.Value]. For a second value that is also malformed, it reports
// that first.
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

// OnlyOnce makes all commands refuse a second value for the flags in singleFlags. It must
// not be used for completion, which parses the flags of a line several times.
func OnlyOnce(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(singleFlags, f.Name) && f.Value.Type() == "string" {
				f.Value = &single{Value: f.Value}
			}
		})
	}
}

// listFlags are the flags whose value is a list with commas and without spaces.
var listFlags = []string{"shape", "chunks", "shards", "expect", "locate", "chunk", "axes", "dimension-names", "select"}

// listContinued returns a flag with its whole list if a surplus argument continues that
// list: --chunks 5,5 for --chunks 5 5. It returns "" otherwise.
func listContinued(cmd *cobra.Command, extra string) string {
	line := lineOf(cmd)
	for i := 2; i < len(line); i++ {
		if line[i] != extra {
			continue
		}
		flag, value, joined := strings.Cut(line[i-1], "=")
		if !joined || !strings.HasPrefix(flag, "--") {
			// --chunks 5 5, otherwise --chunks=5 5.
			flag, value = line[i-2], line[i-1]
		}
		f := cmd.Flags().Lookup(strings.TrimPrefix(flag, "--"))
		if f == nil || !strings.HasPrefix(flag, "--") || !slices.Contains(listFlags, f.Name) {
			continue
		}
		words := []string{strings.Trim(value, ", ")}
		for _, word := range line[i:] {
			if strings.HasPrefix(word, "-") && !argument.IsNumber(word) {
				break
			}
			words = append(words, strings.Trim(word, ", "))
		}
		// Suggest only what the flag accepts.
		if list := strings.Join(words, ","); flagtext.Takes(checkedValue(f), list) {
			return fmt.Sprintf("--%s %s", f.Name, phrase.Word(list))
		}
	}
	return ""
}

// checkedValue returns the value of a flag without the check that it is given only once.
func checkedValue(f *pflag.Flag) pflag.Value {
	if s, ok := f.Value.(*single); ok {
		return s.Value
	}
	return f.Value
}

// flagSynonyms maps names of flags and parameters in other programs and libraries to the
// flags of varve. If there are several, the first one that the command has is meant.
var flagSynonyms = map[string][]string{
	"dims": {"dimension-names"}, "dim": {"dimension-names"}, "dimensions": {"dimension-names"}, "dim-names": {"dimension-names"},
	"fill-value": {"fill"}, "attrs": {"attributes"}, "attribute": {"attributes"},
	"data-type": {"dtype"}, "datatype": {"dtype"}, "type": {"dtype"},
	"format": {"zarr-format"}, "zarr-version": {"zarr-format"}, "version": {"zarr-format"},
	"chunk-shape": {"chunks"}, "chunk-size": {"chunks"}, "chunk": {"chunks"}, "shard-shape": {"shards"}, "shard": {"shards"},
	"compression": {"compressor"}, "codec": {"codecs"}, "filters": {"codecs"},
	"out": {"output"}, "output-file": {"output"}, "sel": {"select"}, "isel": {"select"}, "selection": {"select"},
	"force": {"overwrite", "yes"}, "index-only": {"fast"}, "finish": {"repair"},
}

// flagSynonym returns a hint in parentheses for an unknown flag that other programs have:
// the flag of the command that does the same. It returns "" if there is none.
func flagSynonym(cmd *cobra.Command, name string) string {
	// Parameters of Python have underscores.
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
	if has(name) {
		return fmt.Sprintf(" (did you mean --%s?)", name)
	}
	for _, flag := range flagSynonyms[name] {
		if has(flag) {
			return fmt.Sprintf(" (did you mean --%s?)", flag)
		}
	}
	switch {
	case name == "order" && has("codecs"):
		return ` (elements are in C order; the codec transpose stores them in another order: --codecs '[{"name":"transpose","configuration":{"order":[1,0]}},"bytes","zstd"]')`
	case (name == "dimension-separator" || name == "dim-separator") && has("chunk-key-encoding"):
		return " (--chunk-key-encoding includes the separator: default/, default., v2. or v2/)"
	}
	return ""
}

// FlagMeant returns a hint in parentheses if surplus arguments look like the value of a
// flag, such as a selection or a shape without its flag, and "" otherwise. The command
// takes only the first most arguments.
func FlagMeant(cmd *cobra.Command, args []string, most int) string {
	isList := func(text string) bool {
		_, err := argument.ParseIntegers(strings.Trim(text, "[]()"))
		return err == nil && text != ""
	}
	f := cmd.Flags()
	extra := strings.Join(args[most:], ",")
	switch shape, whole := f.Lookup("shape"), listContinued(cmd, args[most]); {
	case whole != "":
		return fmt.Sprintf(" (a list has commas and no spaces: did you mean %s?)", whole)
	// export NODE out.npy: many programs take the output as an argument.
	case f.Lookup("output") != nil && filepath.Ext(extra) != "" && len(args) == most+1:
		return fmt.Sprintf(" (did you mean -o %s?)", phrase.Word(extra))
	case shape != nil && shape.Changed && isList(extra):
		return fmt.Sprintf(" (lengths have commas and no spaces: did you mean --shape %s?)", strings.Trim(shape.Value.String(), ", ")+","+strings.Trim(extra, ", "))
	case shape != nil && !shape.Changed && isList(extra):
		return fmt.Sprintf(" (did you mean --shape %s?)", extra)
	// create 10,20 NODE: the shape comes before the node.
	case shape != nil && !shape.Changed && isList(args[0]):
		return fmt.Sprintf(" (did you mean --shape %s?)", args[0])
	// drop NODE time=0:10
	case f.Lookup("range") != nil && f.Lookup("axis") != nil && strings.Count(extra, "=") == 1:
		axis, planes, _ := strings.Cut(extra, "=")
		return fmt.Sprintf(" (did you mean --axis %s --range %s?)", phrase.Word(axis), phrase.Word(planes))
	case f.Lookup("select") != nil && selection.Syntax(extra) == nil:
		return fmt.Sprintf(" (did you mean --select '%s'?)", extra)
	}
	return ""
}

// Arguments returns a check of the number of arguments. Names in brackets are optional.
// An empty argument is an error, except for KEY and JSON.
func Arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("unexpected argument %q%s", session.WithoutSecrets(args[len(names)]), FlagMeant(cmd, args, len(names)))
		}
		if len(args) < len(names) && !strings.HasPrefix(names[len(args)], "[") {
			return fmt.Errorf("%s is missing", names[len(args)])
		}
		for i, arg := range args {
			if name := strings.Trim(names[i], "[]"); arg == "" && name != "KEY" && name != "JSON" {
				return fmt.Errorf("%s is empty: is a shell variable not set?", name)
			}
		}
		return nil
	}
}
