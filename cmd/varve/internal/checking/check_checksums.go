// SPDX-License-Identifier: Apache-2.0

package checking

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check/checksums"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// changeFacts is the result of check --against in the form of --json.
type changeFacts struct {
	Path     string           `json:"path"`
	Findings []checksumFact   `json:"findings"`
	Checked  map[string]int64 `json:"checked"`
}

// checksumFact is a value that is not as a list says.
type checksumFact struct {
	Kind    checksums.Change `json:"kind"`
	Path    string           `json:"path"`
	Key     string           `json:"key"`
	Chunk   []int64          `json:"chunk"` // always null: a list knows no chunks
	Message string           `json:"message"`
	Repair  string           `json:"repair"`
}

// checkAgainst compares the stored values of a node with a list of checksums.
func checkAgainst(cmd *cobra.Command, location, file string) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	list, err := localfile.Open(cmd.Context(), file)
	if err != nil {
		return err
	}
	defer list.Close()
	p := progress.New(cmd, "reading", 0)
	c, err := checksums.Compare(cmd.Context(), n.Location(), list, &checksums.Options{Progress: p.Add, List: file})
	p.End()
	if err != nil {
		return failure.On("check", location, err)
	}
	facts := changeFacts{Path: location, Findings: []checksumFact{}, Checked: map[string]int64{"values": c.Values, "bytes": c.Bytes}}
	for _, f := range c.Findings {
		facts.Findings = append(facts.Findings, checksumFactOf(location, file, f))
	}
	if session.WantsJSON(cmd) {
		err = session.PrintJSON(cmd, facts)
	} else {
		err = session.Print(cmd, facts.write)
	}
	if err == nil && len(c.Findings) > 0 {
		text := fmt.Sprintf("check %s: %s not as %s says", location, phrase.Plural(int64(len(c.Findings)), "value"), file)
		err = failure.Verdict(text + otherList(c, file))
	}
	return err
}

// otherList says so if a list was written for another node than the one that was compared
// with it. Then nothing is damaged, and the list does not belong to the node.
func otherList(c checksums.Comparison, file string) string {
	var added, missing []string
	for _, f := range c.Findings {
		switch f.Change {
		case "added":
			added = append(added, f.Key)
		case "missing":
			missing = append(missing, f.Key)
		}
	}
	if len(added) == 0 || len(missing) == 0 || c.Common > 0 {
		return ""
	}
	if dir, ok := folderOf(missing, added); ok {
		return fmt.Sprintf(": it was written for a folder above, and lists what is checked here below %s; check that with it, or write a list of this node with --write-checksums", dir)
	}
	if dir, ok := folderOf(added, missing); ok {
		return fmt.Sprintf(": it was written for a node below, %s; check that with it, or write a list of this node with --write-checksums", dir)
	}
	return fmt.Sprintf(": none of its keys is stored here, such as %s; it is the list of another node", missing[0])
}

// folderOf returns the folder below which a list has the keys of another list, most of
// them at least, in quotes. Arrays have the same keys, so it may be one of several.
func folderOf(list, keys []string) (dir string, ok bool) {
	listed := make(map[string]bool, len(list))
	for _, key := range list {
		listed[key] = true
	}
	var dirs []string
	keys = keys[:min(len(keys), 1000)] // enough to tell, for each of many arrays
	for _, key := range list {
		dir, is := strings.CutSuffix(key, "/"+keys[0])
		if !is {
			continue
		}
		n := 0
		for _, key := range keys {
			if listed[dir+"/"+key] {
				n++
			}
		}
		if 2*n > len(keys) {
			dirs = append(dirs, dir)
		}
	}
	switch len(dirs) {
	case 0:
		return "", false
	case 1:
		return strconv.Quote(dirs[0]), true
	}
	return fmt.Sprintf("%q or another folder", slices.Min(dirs)), true
}

// checksumFactOf describes a finding and what can be done about it.
func checksumFactOf(location, file string, f checksums.Finding) checksumFact {
	fact := checksumFact{Kind: f.Change, Path: location, Key: f.Key}
	switch f.Change {
	case "changed":
		fact.Message, fact.Repair = "other bytes than when "+file+" was written", "copy the value again from where the list was written"
	case "missing":
		fact.Message, fact.Repair = "not stored", "copy the value again from where the list was written"
	case "added":
		fact.Message, fact.Repair = "not in "+file, "write a new list if the value belongs here"
	}
	return fact
}

func (c *changeFacts) write(w *bufio.Writer) error {
	for _, f := range c.Findings {
		fmt.Fprintf(w, "%s  %s: %s\n", phrase.Printable(f.Key), f.Kind, f.Message)
	}
	_, err := fmt.Fprintf(w, "%s  %s, %s: %s not as listed\n", phrase.Printable(c.Path), phrase.Plural(c.Checked["values"], "value"),
		phrase.Bytes(c.Checked["bytes"]), phrase.Count(int64(len(c.Findings))))
	return err
}

// writeChecksums writes a list of the checksums of all stored values to the file of
// --write-checksums, if there is one. With --dandi the report has the digest of the DANDI
// archive.
func (f *checkFlags) writeChecksums(cmd *cobra.Command, n zarr.Node) (checksums.Report, error) {
	p := progress.New(cmd, "reading", 0)
	defer p.End()
	var report checksums.Report
	write := func(w io.Writer) (err error) {
		if f.found != nil {
			report, err = f.found(cmd.Context(), w)
		} else {
			report, err = checksums.Write(cmd.Context(), n.Location(), w, &checksums.Options{DANDI: f.dandi, Progress: p.Add})
		}
		return err
	}
	var err error
	if f.list == "" {
		err = write(io.Discard)
	} else {
		err = localfile.Replace(f.list, func(w *bufio.Writer) error { return write(w) })
	}
	return report, err
}
