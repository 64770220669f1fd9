// SPDX-License-Identifier: Apache-2.0

package creating

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// NewAttributes returns the command attrs.
func NewAttributes() *cobra.Command {
	c := &cobra.Command{
		Use:   "attrs NODE [get [KEY] | set KEY JSON | unset KEY]",
		Short: "Show or change the user attributes of a node",
		Long: `Show or change the user attributes of a node.

varve attrs NODE prints all attributes, get KEY prints one. JSON is the value: 4, -5, true,
'[1, 2]'. Text needs double quotes inside the quotes of the shell: '"K"'.`,
		Example: `  varve attrs era5.zarr/t2m
  varve attrs era5.zarr/t2m get units
  varve attrs era5.zarr/t2m set units '"K"'
  varve attrs era5.zarr/t2m set offset -5`,
		Args:              attributeArguments,
		ValidArgsFunction: node.Complete,
	}
	singleWriter := growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return editAttributes(cmd, args, *singleWriter) }
	return c
}

// attributeArguments checks the arguments; their number depends on the verb.
func attributeArguments(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return usage.Arguments("NODE")(cmd, args)
	}
	names := []string{"NODE", args[1]}
	verbs := []string{"get", "set", "unset"}
	// units=K is the form of other programs.
	if key, value, ok := strings.Cut(args[len(args)-1], "="); ok && len(args) == 3 && args[1] == "set" {
		return fmt.Errorf("JSON is missing (did you mean set %s %s?)", key, phrase.Word(string(output.Text(value))))
	}
	switch args[1] {
	case "get":
		names = append(names, "[KEY]")
	case "set":
		names = append(names, "KEY", "JSON")
	case "unset":
		names = append(names, "KEY")
	case "delete", "remove", "rm":
		return fmt.Errorf("%q is not get, set or unset (did you mean unset?)", args[1])
	default:
		if slices.Contains(verbs, args[0]) {
			return fmt.Errorf("the node comes first: varve attrs %s %s …", phrase.Word(args[1]), args[0])
		}
		how := " (varve attrs NODE set KEY JSON sets an attribute)"
		if key, value, ok := strings.Cut(args[1], "="); ok {
			how = fmt.Sprintf(" (did you mean set %s %s?)", key, phrase.Word(string(output.Text(value))))
		} else if len(args) == 2 {
			how = fmt.Sprintf(" (did you mean get %s?)", phrase.Word(args[1]))
		}
		return fmt.Errorf("%q is not get, set or unset%s", args[1], cmp.Or(spelling.Meant(args[1], verbs), how))
	}
	return usage.Arguments(names...)(cmd, args)
}

func editAttributes(cmd *cobra.Command, args []string, singleWriter bool) error {
	location, verb := args[0], "get"
	if len(args) > 1 {
		verb, args = args[1], args[2:]
	} else {
		args = nil
	}
	if verb == "get" {
		return showAttributes(cmd, location, args)
	}
	if verb == "set" {
		if _, err := strictjson.Parse([]byte(args[1]), anyDepth); err != nil {
			quoted := phrase.Word(string(output.Text(args[1])))
			return failure.BadUsage("attribute %q: %q is not JSON (text needs double quotes, %s): %w", args[0], args[1], quoted, err)
		}
		// A malformed policy would otherwise be noticed only by the next append.
		if args[0] == own.Growth {
			if err := growth.Followable([]byte(args[1])); err != nil {
				return err
			}
		}
	}
	opt := session.Writing(cmd)
	opt.SingleWriter = singleWriter
	n, err := zarr.Open(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer n.Close()
	change := func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, args[0], nonfinite.Text([]byte(args[1])))
	}
	if verb == "unset" {
		change = func(object []byte) ([]byte, error) { return unset(object, args[0]) }
	}
	switch n := n.(type) {
	case *zarr.Array:
		if err = n.UpdateAttributes(cmd.Context(), change); err == nil {
			noteAttribute(cmd, location, n, verb, args[0])
		}
	case *zarr.Group:
		err = n.UpdateAttributes(cmd.Context(), change)
	}
	if err != nil {
		return err
	}
	if !session.WantsJSON(cmd) {
		session.Confirm(cmd, "%s  attribute %s %s", location, args[0], verb)
		return nil
	}
	return showAttributes(cmd, location, nil)
}

// noteAttribute prints a note if xarray reads an array differently, or not at all, after
// the change of one attribute.
func noteAttribute(cmd *cobra.Command, location string, a *zarr.Array, verb, key string) {
	switch {
	case verb == "set" && (key == cf.FillValue || key == cf.Unsigned):
		facts.NoteMissing(cmd, location, a)
	case key == facts.DimensionsAttribute && a.Format() == 2:
		if attributes.Unnamed(a.Metadata()) == attributes.NoNames {
			session.Remark(cmd, location, attributes.NoNames+": xarray does not open a group with such an array")
			return
		}
		dimensions.Note(cmd, location, a)
	}
}

// unset removes an attribute from a JSON object. It fails if there is no such attribute.
func unset(object []byte, key string) ([]byte, error) {
	if _, ok, err := metadata.Attribute(object, key); err != nil || !ok {
		return nil, noAttribute(object, key, err)
	}
	return metadata.UnsetAttribute(object, key)
}

// noAttribute returns err, or, if that is nil, the error for a missing attribute.
func noAttribute(object []byte, key string, err error) error {
	if err != nil {
		return err
	}
	var names []string
	if v, err := strictjson.Parse(object, strictjson.Limits{}); err == nil {
		for name := range v.Members() {
			names = append(names, name)
		}
	}
	return failure.NotFound("there is no attribute %q%s", key, spelling.Meant(key, names))
}

// showAttributes prints all attributes, or the one named, as JSON. Without --json, a bare
// NaN, which strict JSON does not allow, is printed the way it is stored.
func showAttributes(cmd *cobra.Command, location string, keys []string) error {
	opt := session.Reading(cmd)
	opt.Rehearsal = session.LedgerOf(cmd.Context()) // a dry run shows what it would have set
	n, err := zarr.Open(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer n.Close()
	value := n.Attributes()
	if len(value) == 0 {
		value = []byte("{}")
	}
	if len(keys) > 0 {
		var ok bool
		if value, ok, err = metadata.Attribute(value, keys[0]); err != nil || !ok {
			return noAttribute(n.Attributes(), keys[0], err)
		}
	}
	if session.Commits(cmd) && session.WantsJSON(cmd) {
		// The document gets the commit, which must not look like an attribute.
		value = fmt.Appendf(nil, `{"attributes": %s}`, value)
	}
	// An attribute may have characters that could take over a terminal.
	text := strictjson.AppendIndent(nil, output.Safe(value))
	if session.WantsJSON(cmd) {
		text = nonfinite.Text(text)
	} else {
		text = nonfinite.Bare(text)
	}
	_, err = cmd.OutOrStdout().Write(append(text, '\n'))
	return err
}
