// SPDX-License-Identifier: Apache-2.0

// Package usage checks the arguments and flags of a command line, and says what a mistake
// in them may mean.
package usage

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/selection"
)

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
