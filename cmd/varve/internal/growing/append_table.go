// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"errors"
	"sort"
	"strconv"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/tabular"
)

// areTables reports whether sources are tables: all, or none.
func areTables(cmd *cobra.Command, sources []string, formatName string) (bool, error) {
	tables, other := 0, ""
	for _, s := range sources {
		table, err := tabular.IsTable(cmd, s, formatName)
		if err != nil {
			return false, err
		}
		if table {
			tables++
		} else {
			other = s
		}
	}
	if tables > 0 && other != "" {
		return false, failure.BadUsage("%s is no table, and others are: append them one by one", other)
	}
	return tables > 0, nil
}

// isTable reports whether a file has the name of a table.
func isTable(cmd *cobra.Command, file string) bool {
	table, err := tabular.IsTable(cmd, file, "")
	return table && err == nil
}

// growTables appends tables to the arrays of a group that have the names of their
// columns. All tables are staged before the first one is appended: a table that does not
// fit changes nothing. Each is one transaction, and each of its batches a chunk.
func growTables(cmd *cobra.Command, location string, sources []string, axis string, c *growth.Change) (err error) {
	if n, err := strconv.Atoi(axis); err == nil && n != 0 && n != -1 {
		return failure.BadArgument("--axis %s: the columns of a table have one axis", axis)
	}
	g, err := zarr.OpenGroup(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return err
	}
	defer g.Close()
	into := map[string]*zarr.Array{}
	for m, err := range node.Listed(cmd.Context(), location, g.Unconsolidated()) {
		if err != nil {
			return err
		}
		if m.Array.Rank() > 0 { // a single value, such as a grid mapping, does not grow
			into[m.Name] = m.Array
		}
	}
	var rounds [][]*addition
	for _, source := range sources {
		s, failed := tabular.Stage(cmd, source, tabular.Options{Into: into})
		if failed != nil {
			return failure.On(cmd.Name(), location, failed)
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		var round []*addition
		for _, a := range s.Arrays {
			if a.Elements && c.By != "" {
				return failure.BadUsage("--by %s: the column %s has lists, which have no plane for each row: append without --by", c.By, a.Name)
			}
			round = append(round, &addition{name: a.Name, file: s.At(a), column: true, items: a.Elements, by: c.By != ""})
		}
		rounds = append(rounds, round)
	}
	var names []*addition
	for _, in := range rounds[0] {
		names = append(names, &addition{name: in.name, column: true, items: in.items})
	}
	// The arrays of the first table are those of all: each has all arrays of the group.
	for _, round := range rounds {
		sort.Slice(round, func(i, k int) bool { return round[i].name < round[k].name })
	}
	return growNamed(cmd, location, names, func() ([][]*addition, error) { return rounds, nil }, sources, "", axis, c)
}
