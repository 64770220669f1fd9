package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
)

func newTreeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tree NODE",
		Short: "Show a node and everything below it",
		Long:  "Show a node and everything below it.\n\n" + staleHelp,
		Example: `  varve tree era5.zarr
  varve tree --json era5.zarr`,
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := readTree(cmd, args[0], true)
			if root == nil {
				return err
			}
			if wantsJSON(cmd) {
				return errors.Join(printJSON(cmd, root), err)
			}
			return errors.Join(buffered(cmd, root.print), err)
		},
	}
}

func newListCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "ls NODE",
		Short:             "List the members of a group, one a line",
		Long:              "List the members of a group, one a line.\n\n" + staleHelp,
		Example:           "  varve ls era5.zarr",
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := readTree(cmd, args[0], false)
			if root == nil {
				return err
			}
			if wantsJSON(cmd) {
				return errors.Join(printJSON(cmd, root), err)
			}
			return errors.Join(buffered(cmd, root.printMembers), err)
		},
	}
}

// staleHelp says in the help of commands what they show where consolidated metadata is stale.
const staleHelp = `Nodes are shown as they are stored, also where another program has left consolidated metadata stale; a note says so. Of a store
that cannot be listed, as a web server, the consolidated metadata is all that is known.`

// branch is a node with those below it.
type branch struct {
	Name    string    `json:"name"`
	Kind    *string   `json:"kind"` // null where the document is too damaged to tell
	Members []*branch `json:"members"`
	Error   string    `json:"error,omitempty"` // why it cannot be opened
	Notes   []string  `json:"notes,omitempty"` // of the node that the tree is of
	*arrayShape
	text string
}

// arrayShape is what a tree tells of an array. Chunks and shards are as --chunks and --shards of create take them.
type arrayShape struct {
	Shape    []int64         `json:"shape"`
	DataType json.RawMessage `json:"data_type"`
	Chunks   json.RawMessage `json:"chunks"`
	Shards   json.RawMessage `json:"shards,omitempty"`
	Names    []*string       `json:"dimension_names"`
}

// newArrayShape returns what a tree tells of an array.
func newArrayShape(a *zarr.Array) *arrayShape {
	doc := a.Metadata()
	s := &arrayShape{Shape: a.Shape(), DataType: typeJSON(doc.DataType), Chunks: edgesJSON(a.Grid()), Names: doc.DimensionNames}
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil {
			s.Chunks, s.Shards = edgesJSON(g), s.Chunks
		}
	}
	return s
}

// edgesJSON returns how the axes of a grid are cut, as its configuration in metadata has it: a length or a list an axis.
func edgesJSON(g *grid.Grid) json.RawMessage {
	v, err := strictjson.Parse(g.AppendConfiguration(nil), strictjson.Limits{})
	if err != nil {
		return json.RawMessage("null")
	}
	for name, value := range v.Members() {
		if name == "chunk_shape" || name == "chunk_shapes" {
			return value.Raw()
		}
	}
	return json.RawMessage("null")
}

// groupKind is the kind of groups, one for all of them.
var groupKind = "group"

// line returns the node on one line: as memberText has it, unless something else is to be said.
func (b *branch) line() string {
	if b.text != "" {
		return b.text
	}
	text := b.Name
	if b.Kind != nil {
		text += "  " + *b.Kind
	}
	switch b.Error {
	case "":
		return text
	case goneText:
		return text + "  " + goneText
	}
	return text + "  cannot be read: " + b.Error
}

// newBranch returns a node without those below it.
func newBranch(m zarr.Member) *branch {
	b := &branch{Name: m.Name(), Kind: present(m.Kind), Members: []*branch{}}
	if m.Kind == groupKind { // there may be very many
		b.Kind = &groupKind
	}
	if b.Error = goneText; m.Err != errGone {
		b.Error = ""
		if m.Err != nil {
			b.Error = oneLine(m.Err)
		}
	}
	if m.Node != nil && m.Kind != groupKind {
		b.text = memberText(m)
	}
	if a, ok := m.Node.(*zarr.Array); ok {
		b.arrayShape = newArrayShape(a)
	}
	return b
}

// readTree returns the node at a location with its members. Where some of them are damaged it returns what is sound,
// and the error.
func readTree(cmd *cobra.Command, location string, deep bool) (*branch, error) {
	name := filepath.Base(localPath(location))
	n, err := openNode(cmd, location)
	if err != nil {
		if undecodable(err) && readDocument(cmd.Context(), location, permitted(cmd)) != nil {
			b := newBranch(zarr.Member{Path: name, Kind: "array", Err: err})
			b.text = name + "  array  cannot be read" // the error that follows says why
			return b, err
		}
		return nil, err
	}
	defer n.Close()
	g, ok := n.(*zarr.Group)
	if !ok {
		return newBranch(zarr.Member{Path: name, Kind: "array", Node: n}), nil
	}
	root := newBranch(zarr.Member{Path: name, Kind: "group"})
	root.text = name
	stale, err := stalenessOf(cmd.Context(), g, g.Metadata(), deep)
	root.notes(cmd, location, stale)
	return root, errors.Join(err, root.grow(cmd, g, stale, deep))
}

// notes tells where consolidated metadata is stale: programs in the document, people on standard error.
func (b *branch) notes(cmd *cobra.Command, location string, stale *drift) {
	if stale != nil {
		b.Notes = []string{stale.staleText()}
		note(cmd, location, stale.staleText())
	}
}

// undecodable reports whether a node is there that this program cannot make sense of.
func undecodable(err error) bool {
	return errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrInvalidMetadata)
}

// grow adds the members of the group that b is.
func (b *branch) grow(cmd *cobra.Command, g *zarr.Group, stale *drift, deep bool) error {
	var bad error
	at := map[string]*branch{".": b}
	for m, err := range membersThere(cmd.Context(), g, stale, deep) {
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		below := newBranch(m)
		at[m.Path] = below
		parent := place(at, path.Dir(m.Path))
		parent.Members = append(parent.Members, below)
	}
	return bad
}

// place returns the branch at a path; consolidated metadata may leave out the groups between.
func place(at map[string]*branch, p string) *branch {
	if b := at[p]; b != nil {
		return b
	}
	b := newBranch(zarr.Member{Path: p, Kind: "group"})
	b.text = b.line() + "  without a document"
	at[p] = b
	parent := place(at, path.Dir(p))
	parent.Members = append(parent.Members, b)
	return b
}

func (b *branch) print(w *bufio.Writer) error {
	if _, err := fmt.Fprintln(w, printable(b.line())); err != nil {
		return err
	}
	return b.printBelow(w, "")
}

func (b *branch) printBelow(w *bufio.Writer, indent string) error {
	for i, m := range b.Members {
		joint, next := "├── ", "│   "
		if i == len(b.Members)-1 {
			joint, next = "└── ", "    "
		}
		if _, err := fmt.Fprintln(w, indent+joint+printable(strings.TrimSuffix(m.line(), "  group"))); err != nil {
			return err
		}
		if err := m.printBelow(w, indent+next); err != nil {
			return err
		}
	}
	return nil
}

// printMembers prints a line for every member; an array is its own only member.
func (b *branch) printMembers(w *bufio.Writer) error {
	members := b.Members
	if *b.Kind == "array" {
		members = []*branch{b}
	}
	for _, m := range members {
		if _, err := fmt.Fprintln(w, printable(m.line())); err != nil {
			return err
		}
	}
	return nil
}
