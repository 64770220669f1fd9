package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
)

// groupFindings is what was found out about the arrays below a group, as programs read it. The sums are of all arrays.
type groupFindings struct {
	Path    string      `json:"path"`
	Arrays  []*findings `json:"arrays"` // in the order of their paths
	Chunks  int64       `json:"chunks_stored"`
	Inner   int64       `json:"inner_chunks_stored"`
	Bytes   int64       `json:"bytes_stored"`
	Dead    int64       `json:"bytes_dead"`
	Missing int64       `json:"chunks_missing"`
	Faults  int64       `json:"faults"`
	Bad     int64       `json:"chunks_damaged"`
	Failed  int64       `json:"arrays_not_checked"`
	Differ  []string    `json:"dimensions"` // along which arrays of one group differ in length

	Temporary []temporaryFact `json:"temporary"`
}

// checkGroup looks for damage in all arrays below a group. An array that cannot be checked does not keep it from the
// others: it is told, and the status is 1.
func checkGroup(cmd *cobra.Command, location string, g *zarr.Group, how zarr.CheckOptions) error {
	all := &groupFindings{Path: location, Arrays: []*findings{}, Differ: append([]string{}, disagreements(cmd, g)...)}
	var bad error
	for m, err := range g.Members(cmd.Context(), true) {
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		if below, ok := m.Node.(*zarr.Group); ok {
			for _, text := range disagreements(cmd, below) {
				all.Differ = append(all.Differ, m.Path+": "+text)
			}
		}
		c, err := checkMember(cmd, location, m, how)
		if err != nil {
			return err
		}
		if c != nil {
			all.add(c)
		}
	}
	if files, err := temporaryFiles(cmd, g); err != nil {
		bad = errors.Join(bad, err)
	} else {
		all.Temporary = files
	}
	if err := all.print(cmd); err != nil || bad != nil {
		return errors.Join(err, bad)
	}
	if all.Faults == 0 && all.Failed == 0 && len(all.Differ) == 0 {
		return nil
	}
	text := faultsText(location, all.Faults, all.Missing, all.Bad, all.Chunks)
	if all.Failed > 0 {
		text += fmt.Sprintf("; %s could not be checked", plural(all.Failed, "array"))
	}
	if n := int64(len(all.Differ)); n > 0 {
		text += fmt.Sprintf("; arrays differ in length along %s", plural(n, "dimension"))
	}
	return verdict(text)
}

// checkMember looks for damage in a member of a group, nil for one that is sound and no array. Its error is one that
// ends the work: the command was stopped.
func checkMember(cmd *cobra.Command, location string, m zarr.Member, how zarr.CheckOptions) (*findings, error) {
	at := sameNode(location) + "/" + m.Path
	err := m.Err
	if a, ok := m.Node.(*zarr.Array); ok && err == nil {
		var c *findings
		if c, err = checkArray(cmd, at, a, how); err == nil {
			return c, nil
		}
	}
	if err == nil {
		return nil, nil
	}
	return &findings{Path: at, Found: []faultFact{}, Error: present(oneLine(err))}, cmd.Context().Err()
}

// add adds the findings of one array.
func (g *groupFindings) add(c *findings) {
	g.Arrays = append(g.Arrays, c)
	g.Chunks += c.Chunks
	g.Inner += c.Inner
	g.Bytes += c.Bytes
	g.Dead += c.Dead
	g.Missing += c.Missing
	g.Faults += c.Faults
	g.Bad += c.Bad
	if c.Error != nil {
		g.Failed++
	}
}

func (g *groupFindings) print(cmd *cobra.Command) error {
	if wantsJSON(cmd) {
		return printJSON(cmd, g)
	}
	return buffered(cmd, func(w *bufio.Writer) error {
		for _, c := range g.Arrays {
			if err := c.write(w); err != nil {
				return err
			}
		}
		for _, text := range g.Differ {
			fmt.Fprintln(w, printable(text))
		}
		writeTemporary(w, g.Temporary)
		_, err := fmt.Fprintf(w, "%s  %s, %s, %s: %s\n", printable(g.Path), plural(int64(len(g.Arrays)), "array"),
			plural(g.Chunks, "stored chunk"), byteCount(g.Bytes), plural(g.Faults, "fault"))
		return err
	})
}
