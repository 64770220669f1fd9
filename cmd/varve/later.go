package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// later marks flags that the grammar of the command line has and this version has not.
const later = "varve_later"

// notYet gives a command such flags: hidden, and refused as not supported. A name that ends in "=" takes a value.
func notYet(c *cobra.Command, names ...string) {
	for _, n := range names {
		name, takesValue := strings.CutSuffix(n, "=")
		f := c.Flags().VarPF(new(text), name, "", "not in this version")
		f.Hidden = true
		f.Annotations = map[string][]string{later: nil}
		if !takesValue {
			f.NoOptDefVal = "true"
		}
	}
}

// refuseLater returns an error for the first flag that was given and that this version has not.
func refuseLater(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := f.Annotations[later]; ok && err == nil {
			err = unsupported("--%s is not supported yet", f.Name)
		}
	})
	return err
}

// text is the value of a flag that takes anything.
type text string

func (t *text) Set(s string) error { *t = text(s); return nil }
func (t *text) String() string     { return string(*t) }
func (t *text) Type() string       { return "string" }
