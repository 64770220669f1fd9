// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/export"
)

// NewCat returns the command cat.
func NewCat() *cobra.Command {
	c := &cobra.Command{
		Use:   "cat NODE [--select ELEMENTS]",
		Short: "Print the values of an array, without the middle of long axes",
		Long: `Print the values of an array, without the middle of long axes.

Of more than 1,000 values, only the first and last three along every axis are read and printed; export writes them all.
CF times (units such as "days since 2000-01-01") of an array with one axis are printed as dates. --decode does so for
any array, and also unpacks numbers by their attributes scale_factor, add_offset, _FillValue and missing_value. Unpacked
numbers are rounded to 15 digits where that changes the last bit only; with --json, and by export, they are exact.`,
		Example: `  varve cat era5.zarr/t2m --select 0
  varve cat era5.zarr/time`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	sel, decoded := source.SelectionFlag(c), source.DecodeFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return show(cmd, args[0], *sel, *decoded) }
	return c
}

func show(cmd *cobra.Command, location, sel string, decoded bool) error {
	a, src, err := openSource(cmd, location, sel, decoded)
	if err != nil {
		return err
	}
	defer a.Close()
	if session.WantsJSON(cmd) {
		if err := format.CheckLimit(src, session.LimitOf(cmd), export.JSON); err != nil {
			return err
		}
		// The data type precedes the values in the document. So find out now whether
		// times become text.
		if err := src.Settle(cmd.Context()); err != nil {
			return err
		}
		// Half a document would be useless to a program.
		return output.Withheld(cmd.OutOrStdout(), func(w *bufio.Writer) error {
			return format.Within(session.LimitOf(cmd), w, func(w *bufio.Writer) error { return showJSON(cmd, location, src, w) })
		})
	}
	p, err := format.NewExcerpt(cmd.Context(), src)
	if err != nil {
		return err
	}
	return session.Print(cmd, p.Print)
}

// showJSON writes one document with all values of the selection.
func showJSON(cmd *cobra.Command, location string, src *export.Source, w *bufio.Writer) error {
	shape := output.Text(src.Shape)
	_, err := fmt.Fprintf(w, `{"path": %s, "shape": %s, "data_type": %s, "values": `, output.Text(location), shape, output.Text(src.Type.String()))
	if err != nil {
		return err
	}
	if err := export.WriteLists(cmd.Context(), src, w); err != nil {
		return err
	}
	stats, err := session.StatsMember(cmd)
	if err != nil {
		return err
	}
	_, err = w.Write(append(stats, "}\n"...))
	return err
}
