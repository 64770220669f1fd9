// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/store"
)

// NewTree returns the command tree.
func NewTree() *cobra.Command {
	c := &cobra.Command{
		Use:   "tree NODE",
		Short: "Print a node and everything below it",
		Long:  "Print a node and everything below it.\n\n" + staleHelp,
		Example: `  varve tree era5.zarr
  varve tree --stats era5.zarr
  varve tree --json era5.zarr`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := readTree(cmd, args[0], true)
			if root == nil {
				return err
			}
			if session.WantsJSON(cmd) {
				return errors.Join(session.Print(cmd, root.PrintJSON), err)
			}
			return errors.Join(session.Print(cmd, root.print), err)
		},
	}
	c.Flags().Bool(withStats, false, "also print the range of the elements of arrays whose statistics are kept (varve stats)")
	return c
}

// withStats is the flag of tree for ranges.
const withStats = "stats"

// addRange adds the range that the statistics of an array tell, if it is wanted. It lists
// the chunks, and reads none.
func (b *branch) addRange(cmd *cobra.Command, m zarr.Member) error {
	a, ok := m.Node.(*zarr.Array)
	if wanted, err := cmd.Flags().GetBool(withStats); !ok || !wanted || err != nil { // ls has no such flag
		return nil
	}
	h, err := facts.KeptHoldings(cmd.Context(), a)
	if h == nil {
		return err
	}
	b.Statistics = h
	if text := h.Extent(); text != "" {
		b.text += "  " + text
	}
	return err
}

// NewList returns the command ls.
func NewList() *cobra.Command {
	return &cobra.Command{
		Use:               "ls NODE",
		Short:             "List the members of a group, one per line",
		Long:              "List the members of a group, one per line.\n\n" + staleHelp,
		Example:           "  varve ls era5.zarr",
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := readTree(cmd, args[0], false)
			if root == nil {
				return err
			}
			if session.WantsJSON(cmd) {
				return errors.Join(session.Print(cmd, root.PrintJSON), err)
			}
			return errors.Join(session.Print(cmd, root.printMembers), err)
		},
	}
}

// staleHelp explains stale consolidated metadata in the help of commands.
const staleHelp = `The nodes are read from the store, even if another program has left the consolidated metadata stale; then a note says
so. In a store that cannot be listed, such as a web server, only the consolidated metadata is known.`

// branch is a node with those below it. There may be very many, so nodes that differ only
// by name share one of sharedBranches.
type branch struct {
	nodeFacts
	kind    *string // nil if the document is too damaged
	members []twig
	text    string
}

// twig is a member of a branch.
type twig struct {
	name string
	*branch
}

// nodeFacts describes a node in the form of --json, without its name and its members.
type nodeFacts struct {
	Error string   `json:"error,omitempty"` // why it cannot be opened
	Notes []string `json:"notes,omitempty"` // only at the top of the tree
	*arrayShape
}

// arrayShape describes an array in a tree. Chunks and Shards have the syntax of --chunks
// and --shards of create.
type arrayShape struct {
	Shape    []int64         `json:"shape"`
	DataType json.RawMessage `json:"data_type"`
	Chunks   json.RawMessage `json:"chunks"`
	Shards   json.RawMessage `json:"shards,omitempty"`
	Names    []*string       `json:"dimension_names"`

	Statistics *facts.Holdings `json:"statistics,omitempty"` // with --stats, if they are kept
}

// newArrayShape returns the description of an array in a tree.
func newArrayShape(a *zarr.Array) *arrayShape {
	doc := a.Metadata()
	s := &arrayShape{Shape: a.Shape(), DataType: facts.TypeJSON(doc.DataType), Chunks: edgesJSON(a.Grid()), Names: doc.DimensionNames}
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil {
			s.Chunks, s.Shards = edgesJSON(g), s.Chunks
		}
	}
	return s
}

// edgesJSON returns the edges of a grid in the form of metadata: for each axis a length
// or a list.
func edgesJSON(g *grid.Grid) json.RawMessage {
	v, err := strictjson.Parse(g.AppendConfiguration(nil), strictjson.Limits{})
	if err != nil {
		return json.RawMessage("null")
	}
	for name, value := range v.Members() {
		// A regular grid has one length per axis, a rectilinear one a length or a list.
		if name == "chunk_shape" || name == "chunk_shapes" {
			return value.Raw()
		}
	}
	return json.RawMessage("null")
}

// groupKind and arrayKind are the kinds of nodes. All branches point to them.
var groupKind, arrayKind = "group", "array"

// sharedBranches are the branches that members share: one for all groups, and by kind one
// for all nodes that are gone.
var sharedBranches = struct {
	group *branch
	gone  map[string]*branch
}{
	&branch{kind: &groupKind},
	map[string]*branch{
		groupKind: {kind: &groupKind, nodeFacts: nodeFacts{Error: consolidated.GoneText}},
		arrayKind: {kind: &arrayKind, nodeFacts: nodeFacts{Error: consolidated.GoneText}},
	},
}

// line describes the node in one line.
func (b twig) line() string {
	if b.text != "" {
		return b.text
	}
	text := phrase.Name(b.name)
	if b.kind != nil {
		text += "  " + *b.kind
	}
	switch b.Error {
	case "":
		return text
	case consolidated.GoneText:
		return text + "  " + consolidated.GoneText
	}
	return text + "  cannot be read: " + b.Error
}

// newBranch returns a node without those below it.
func newBranch(m zarr.Member) *branch {
	switch gone := sharedBranches.gone[m.Kind]; {
	case m.Err == consolidation.ErrGone && gone != nil:
		return gone
	case m.Err == nil && m.Kind == groupKind:
		return sharedBranches.group
	}
	b := &branch{kind: output.Present(m.Kind)}
	if b.Error = consolidated.GoneText; m.Err != consolidation.ErrGone {
		b.Error = ""
		if m.Err != nil {
			b.Error = failure.OneLine(m.Err)
		}
	}
	if m.Node != nil && m.Kind != groupKind {
		b.text = facts.MemberText(m)
	}
	if a, ok := m.Node.(*zarr.Array); ok {
		b.arrayShape = newArrayShape(a)
	}
	return b
}

// readTree returns the node at a location with its members. If some of them are damaged,
// it returns the others and an error.
func readTree(cmd *cobra.Command, location string, deep bool) (*twig, error) {
	name := filepath.Base(node.LocalPath(location))
	n, err := node.Open(cmd, location)
	if err != nil {
		if consolidated.Undecodable(err) && facts.ReadDocument(cmd.Context(), location, session.Permitted(cmd)) != nil {
			b := newTwig(zarr.Member{Path: name, Kind: arrayKind, Err: err})
			b.text = phrase.Name(name) + "  array  cannot be read" // the error message gives the reason
			return b, err
		}
		return nil, err
	}
	defer n.Close()
	g, ok := n.(*zarr.Group)
	if !ok {
		m := zarr.Member{Path: name, Kind: arrayKind, Node: n}
		t := newTwig(m)
		return t, t.addRange(cmd, m)
	}
	root := &twig{name, &branch{kind: &groupKind, text: phrase.Name(name)}}
	stale, err := consolidation.Stale(cmd.Context(), g.Location(), g.Metadata(), &consolidation.Options{Shallow: !deep})
	root.notes(cmd, location, stale)
	err = root.note(cmd, location, err)
	return root, errors.Join(err, root.grow(cmd, location, g, stale, deep))
}

// notes adds a note about stale consolidated metadata, and prints it on standard error.
func (b *branch) notes(cmd *cobra.Command, location string, stale *consolidation.Drift) {
	if stale != nil {
		b.Notes = []string{consolidated.StaleText(stale)}
		session.Note(cmd, location, consolidated.StaleText(stale))
	}
}

// note turns an error about names that cannot be used into a note: all nodes are there.
// It returns any other error.
func (b *branch) note(cmd *cobra.Command, location string, err error) error {
	if !errors.Is(err, store.ErrUnusable) {
		return err
	}
	if text := failure.OneLine(err); !slices.Contains(b.Notes, text) {
		b.Notes = append(b.Notes, text)
		session.Note(cmd, location, text)
	}
	return nil
}

func newTwig(m zarr.Member) *twig { return &twig{m.Name(), newBranch(m)} }

// grow adds the members of group g to its branch.
func (b *branch) grow(cmd *cobra.Command, location string, g *zarr.Group, stale *consolidation.Drift, deep bool) error {
	var bad error
	at := map[string]*branch{".": b}
	if stale != nil { // reserve memory: a slice of very many members is copied as it grows
		n := 0
		for _, p := range stale.Gone {
			if path.Dir(p) == "." {
				n++
			}
		}
		b.members = slices.Grow(b.members, n)
	}
	for m, err := range consolidation.Members(cmd.Context(), g, stale, deep) {
		if err != nil {
			bad = errors.Join(bad, b.note(cmd, location, err))
			continue
		}
		parent := branchAt(at, path.Dir(m.Path))
		made := newBranch(m)
		parent.members = append(parent.members, twig{m.Name(), made})
		bad = errors.Join(bad, made.addRange(cmd, m))
	}
	return bad
}

// branchAt returns the branch at a path, to add members to it. It creates groups on the
// way that have no document.
func branchAt(at map[string]*branch, p string) *branch {
	if b := at[p]; b != nil {
		return b
	}
	parent, name := branchAt(at, path.Dir(p)), path.Base(p)
	i := parent.index(name)
	if i < 0 {
		i = len(parent.members)
		t := twig{name, &branch{kind: &groupKind}}
		t.text = t.line() + "  without a document"
		parent.members = append(parent.members, t)
	}
	own := *parent.members[i].branch // a copy: the branch may be one of sharedBranches
	parent.members[i].branch, at[p] = &own, &own
	return &own
}

// index returns the index of the member with a name, or -1. Usually it is the last one,
// and members are sorted.
func (b *branch) index(name string) int {
	last := len(b.members) - 1
	if last >= 0 && b.members[last].name == name {
		return last
	}
	if i, found := slices.BinarySearchFunc(b.members, name, func(t twig, name string) int { return strings.Compare(t.name, name) }); found {
		return i
	}
	return slices.IndexFunc(b.members, func(t twig) bool { return t.name == name })
}

func (b *twig) print(w *bufio.Writer) error {
	if _, err := fmt.Fprintln(w, phrase.Printable(b.line())); err != nil {
		return err
	}
	return b.printBelow(w, "")
}

func (b *twig) printBelow(w *bufio.Writer, indent string) error {
	for i, m := range b.members {
		joint, next := "├── ", "│   "
		if i == len(b.members)-1 {
			joint, next = "└── ", "    "
		}
		if _, err := fmt.Fprintln(w, indent+joint+phrase.Printable(strings.TrimSuffix(m.line(), "  group"))); err != nil {
			return err
		}
		if err := m.printBelow(w, indent+next); err != nil {
			return err
		}
	}
	return nil
}

// printMembers prints one line for every member. For an array it prints the array itself.
func (b *twig) printMembers(w *bufio.Writer) error {
	members := b.members
	if *b.kind == arrayKind {
		members = []twig{*b}
	}
	for _, m := range members {
		if _, err := fmt.Fprintln(w, phrase.Printable(m.line())); err != nil {
			return err
		}
	}
	return nil
}

// PrintJSON prints the tree as JSON, node by node.
func (b *twig) PrintJSON(w *bufio.Writer) error {
	if err := b.printJSONBelow(w, ""); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

func (b *twig) printJSONBelow(w *bufio.Writer, indent string) error {
	alone, err := output.Encoded(struct {
		Name    string   `json:"name"`
		Kind    *string  `json:"kind"`
		Members []string `json:"members"`
		nodeFacts
	}{b.name, b.kind, []string{}, b.nodeFacts})
	if err != nil {
		return err
	}
	const none = `"members": []` // cannot be part of a name, where quotes are escaped
	// Encode the node with an empty list, and write its members between the brackets. So
	// the text of a large tree is never in memory.
	text := strings.ReplaceAll(string(strictjson.AppendIndent(nil, alone)), "\n", "\n"+indent)
	before, after, _ := strings.Cut(text, none)
	if len(b.members) == 0 {
		before, after = text, ""
	} else {
		before += strings.TrimSuffix(none, "]")
	}
	if _, err := w.WriteString(before); err != nil || after == "" {
		return err
	}
	below := indent + "    "
	for i, m := range b.members {
		if i > 0 {
			err = w.WriteByte(',')
		}
		if _, lineErr := w.WriteString("\n" + below); cmp.Or(err, lineErr) != nil {
			return cmp.Or(err, lineErr)
		}
		if err := m.printJSONBelow(w, below); err != nil {
			return err
		}
	}
	_, err = w.WriteString("\n" + indent + "  ]" + after)
	return err
}
