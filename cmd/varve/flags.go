package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/selection"
)

// checkedText is the value of a flag whose text is checked as soon as it is read: what
// could fit no array is wrong usage.
type checkedText struct {
	text  *string
	check func(string) error
}

func (c checkedText) Set(s string) error {
	if err := c.check(s); err != nil && !errors.Is(err, zarr.ErrUnsupported) { // what is unsupported fails when it is used
		return err
	}
	*c.text = s
	return nil
}

// String returns "" for the zero value, which package pflag asks for it.
func (c checkedText) String() string {
	if c.text == nil {
		return ""
	}
	return *c.text
}

func (c checkedText) Type() string { return "string" }

// checkedVar gives a command a flag whose text has to pass check.
func checkedVar(f *pflag.FlagSet, p *string, name, value, usage string, check func(string) error) {
	*p = value
	f.Var(checkedText{p, check}, name, usage)
}

// needed returns the check for a text that may not be empty; meaning says what it is.
func needed(meaning string) func(string) error {
	return func(s string) error {
		if s == "" {
			return fmt.Errorf("%s is needed: is a variable of the shell not set?", meaning)
		}
		return nil
	}
}

// syntax returns the check that a parser makes of a text.
func syntax[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

// oneOf returns the check for one of several words.
func oneOf(words ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(words, s) {
			return nil
		}
		return fmt.Errorf("%s and %s are known%s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1], spelling.Meant(s, words))
	}
}

// policy returns the check for one of several words, those that end in ":" followed by
// more.
func policy(words ...string) func(string) error {
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
			return fmt.Errorf("it is none of %s (is %s meant?)", strings.Join(words, ", "), near[0]+rest)
		}
		return fmt.Errorf("it is none of %s", strings.Join(words, ", "))
	}
}

// exclusive refuses flags of which only one can be meant.
func exclusive(cmd *cobra.Command, names ...string) error {
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

// flagError says in plain words what is wrong with a flag: one that there is not, or one
// whose value is to be a number.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		name := unknown.GetSpecifiedName()
		if name == "chunks" && cmd.Flags().Lookup("chunk-grid") != nil {
			return fmt.Errorf("%w (--chunk-grid takes the whole chunk grid as JSON, --chunk the index of one chunk)", err)
		}
		if slices.Contains([]string{"csv", "npy", "json", "raw"}, name) && cmd.Flags().Lookup("format") != nil {
			return fmt.Errorf("%w (is --format %s meant?)", err, name)
		}
		if shorts := unknown.GetSpecifiedShortnames(); shorts != "" {
			return fmt.Errorf("%w%s", err, numberMeant(cmd, shorts))
		}
		return fmt.Errorf("%w%s", err, cmp.Or(flagElsewhere(cmd, name), spelling.Meant("--"+name, known)))
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		value, _ := pflag.UnquoteUsage(missing.GetFlag())
		return fmt.Errorf("--%s needs a value: %s is missing", missing.GetFlag().Name, value)
	}
	var number *strconv.NumError
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	flag := value.GetFlag()
	if cmd.Flags().Lookup(strings.TrimPrefix(value.GetValue(), "--")) != nil && strings.HasPrefix(value.GetValue(), "--") {
		return fmt.Errorf("--%s needs a value, and %s follows it", flag.Name, value.GetValue())
	}
	switch {
	case errors.Is(err, errTwice) && flag.Name == "select":
		return fmt.Errorf("--select: %w: items have commas between them, as time=0:10,lat=3", errTwice)
	case errors.Is(err, errTwice):
		return fmt.Errorf("--%s: %w", flag.Name, errTwice)
	case errors.As(err, &number) && flag.Value.Type() == "bool":
		return fmt.Errorf("--%s: %q is neither true nor false; --%s alone is true", flag.Name, value.GetValue(), flag.Name)
	case errors.As(err, &number) && flag.Name == "zarr-format":
		return fmt.Errorf("--%s: 2 and 3 are known%s", flag.Name, spelling.Meant(value.GetValue(), []string{"2", "3"}))
	case errors.As(err, &number):
		return fmt.Errorf("--%s: %q is no whole number that fits", flag.Name, value.GetValue())
	}
	return fmt.Errorf("--%s %q: %w%s", flag.Name, phrase.Shorten(value.GetValue(), 200), value.Unwrap(), valueMeant(flag.Name, value.GetValue(), value.Unwrap()))
}

// unknownWay finds the word that is to name a way to select, and names none.
var unknownWay = regexp.MustCompile(`"(\w+)" is no way to select`)

// valueMeant returns which word may be meant by the value of a flag that is refused,
// where the refusal does not say so.
func valueMeant(flag, value string, err error) string {
	way := unknownWay.FindStringSubmatch(err.Error())
	switch {
	case flag == "select" && way != nil:
		return spelling.Meant(way[1], []string{"basic", "orthogonal", "points", "blocks", "mask", "fields"})
	case flag == "calendar":
		return spelling.Meant(value, []string{"standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian"})
	case flag == experimentalFlag:
		return spelling.Meant(value, experimentNames())
	case flag == "codecs":
		return codecsMeant(value)
	case flag == "chunk-grid":
		return chunkGridMeant(value)
	case flag == "chunk-key-encoding":
		return spelling.Meant(value, []string{"default/", "default.", "v2.", "v2/"})
	case flag == "target" || flag == limitFlag:
		return phrase.SizeMeant(value)
	}
	return ""
}

// propose makes a shell complete the value of a flag.
func propose(c *cobra.Command, flag string, words ...string) {
	// The error would be that there is no such flag.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

// flagMeant returns which flag may be meant by an argument that a command does not take:
// the selection, or the shape, which stand without one. Those from most on are too many.
func flagMeant(cmd *cobra.Command, args []string, most int) string {
	isList := func(text string) bool {
		_, err := parseIntegers(strings.Trim(text, "[]()"))
		return err == nil && text != ""
	}
	f := cmd.Flags()
	extra := strings.Join(args[most:], ",")
	switch shape, whole := f.Lookup("shape"), listContinued(cmd, args[most]); {
	case whole != "":
		return fmt.Sprintf(" (a list has commas and no spaces: is %s meant?)", whole)
	case f.Lookup("output") != nil && filepath.Ext(extra) != "" && len(args) == most+1:
		return fmt.Sprintf(" (is -o %s meant?)", extra)
	case shape != nil && shape.Changed && isList(extra):
		return fmt.Sprintf(" (lengths have commas and no spaces: is --shape %s meant?)", strings.Trim(shape.Value.String(), ", ")+","+strings.Trim(extra, ", "))
	case shape != nil && !shape.Changed && isList(extra):
		return fmt.Sprintf(" (is --shape %s meant?)", extra)
	case shape != nil && !shape.Changed && isList(args[0]):
		return fmt.Sprintf(" (is --shape %s meant?)", args[0])
	case f.Lookup("select") != nil && selection.Syntax(extra) == nil:
		return fmt.Sprintf(" (is --select '%s' meant?)", extra)
	}
	return ""
}
