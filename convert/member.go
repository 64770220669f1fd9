// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/masking"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/ome"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// member is a node that is being converted.
type member struct {
	Converted
	path         store.Path    // in the store
	node, result metadata.Node // in the old and the new format
	sources      []source      // the documents that were read
	others       []string      // documents of the other format beside them
	alias        bool          // another name of a member
	consolidated bool          // the group has consolidated metadata
	index        []byte        // the consolidated metadata of format 2
	reason       error         // the reason to encode the chunks again, or nil
	mask         *masking.Mask // missing values; nil if the format stays
	axes         []string      // of the image that the array is a level of, in format 2
	imaging      string        // the version of OME-Zarr around a group; "" if not known
	gaps         *gaps         // missing chunks to store; nil if there are none
	derived      *Derived      // how the array is made anew; nil if it is copied
	fresh        bool          // no value of the destination is taken for a copy
	shapes       [][]int64     // of other states, for which values may have been stored
}

// source is a document that was read.
type source struct {
	name   string
	digest [sha256.Size]byte
}

// survey reads the nodes to convert.
type survey struct {
	store  store.Store
	limits zarr.Limits
	op     string // for errors; "" is "convert"
	// listMembers returns the names of the members that the metadata of a group lists.
	// It is used if the store cannot be listed, and may be nil.
	listMembers func(ctx context.Context, p store.Path) ([]string, error)
	members     []*member // parents first
	images      ome.Images
}

// walk reads the node at a path, if it exists, and those below it.
func (s *survey) walk(ctx context.Context, p store.Path, relative string) error {
	m, err := s.member(ctx, p, relative)
	if m == nil || err != nil {
		return err
	}
	s.members = append(s.members, m)
	if m.Kind == "array" {
		return nil
	}
	// Nodes may be in directories that no group lists, so look into all of them.
	names, err := s.children(ctx, p)
	if err != nil {
		return err
	}
	for _, name := range names {
		below, err := p.Join(name)
		if err != nil {
			continue // not a valid node name
		}
		if err := s.walk(ctx, below, strings.TrimPrefix(relative+"/"+name, "/")); err != nil {
			return err
		}
	}
	return nil
}

// children returns the sorted names of possible nodes below a group.
func (s *survey) children(ctx context.Context, p store.Path) ([]string, error) {
	names, err := tree.Directories(ctx, s.store, p)
	if errors.Is(err, store.ErrUnsupported) && s.listMembers != nil {
		return s.listMembers(ctx, p)
	}
	return names, err
}

// member reads the documents of a node, or returns nil if there is no node. If there are
// documents of both formats, which an interrupted conversion leaves, it reads format 3.
func (s *survey) member(ctx context.Context, p store.Path, relative string) (*member, error) {
	m := &member{Converted: Converted{Path: relative}, path: p}
	raw := map[string][]byte{}
	// Read all documents: an interrupted conversion leaves those of both formats.
	for _, name := range copying.DocumentNames {
		document, err := s.get(ctx, p, name)
		if err != nil {
			return nil, err
		}
		if document != nil {
			raw[name] = document
		}
	}
	names := []string{nodename.V3Node}
	var err error
	switch {
	case raw[nodename.V3Node] != nil:
		m.node, err = metadata.Parse(raw[nodename.V3Node], metadata.Limits{})
	case raw[nodename.V2Array] != nil:
		names = []string{nodename.V2Array, nodename.V2Attributes}
		m.node, err = metadata.ParseV2(nodename.V2Array, raw[nodename.V2Array], raw[nodename.V2Attributes], metadata.Limits{})
	case raw[nodename.V2Group] != nil:
		names = []string{nodename.V2Group, nodename.V2Attributes}
		m.node, err = metadata.ParseV2(nodename.V2Group, raw[nodename.V2Group], raw[nodename.V2Attributes], metadata.Limits{})
		m.consolidated = raw[nodename.V2Consolidated] != nil
	default:
		return nil, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", kindOfDocument(err), err)
		if raw[nodename.V3Node] != nil { // errors of format 2 name the document
			err = fmt.Errorf("%s: %w", p.MustKey(nodename.V3Node), err)
		}
		return nil, copying.Wrap(cmp.Or(s.op, "convert"), p.String(), err)
	}
	m.Kind, m.From = "array", m.node.Format()
	if g, isGroup := m.node.(*metadata.Group); isGroup {
		m.Kind = "group"
		m.consolidated = m.consolidated || g.Consolidated != nil
	}
	for _, name := range copying.DocumentNames {
		if slices.Contains(names, name) {
			m.sources = append(m.sources, source{name, sha256.Sum256(raw[name])})
		} else if raw[name] != nil && m.From == 3 {
			m.others = append(m.others, name)
		}
	}
	return m, nil
}

// kindOfDocument returns the error of package zarr for an invalid document.
func kindOfDocument(err error) error {
	if errors.Is(err, metadata.ErrUnsupported) {
		return zarr.ErrUnsupported
	}
	return zarr.ErrInvalidMetadata
}

// get reads a document, or returns nil if it does not exist.
func (s *survey) get(ctx context.Context, p store.Path, name string) ([]byte, error) {
	raw, err := copying.ReadDocument(ctx, s.store, p.MustKey(name), s.limits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// noteAliases marks the members that are at or below a symbolic link to another member.
// They are converted once, by their name without links, and stay in consolidated metadata
// by both names.
func (s *survey) noteAliases(ctx context.Context) error {
	if _, links := store.Driver(s.store).(store.Directories); !links || len(s.members) == 0 {
		return nil
	}
	var linked, plain []*member
	at := "\x00" // the latest link; members below it follow in the order
	for _, m := range s.members {
		below := strings.HasPrefix(m.Path, at+"/")
		if !below && m.Path != "" && store.DirectoriesOf(s.store).CheckTree(m.path) != nil {
			at, below = m.Path, true
		}
		if below {
			linked = append(linked, m)
		} else {
			plain = append(plain, m)
		}
	}
	if len(linked) == 0 {
		return nil
	}
	seen := map[store.Version]bool{}
	// If several links lead to one node that is not converted by its own name, the first
	// link counts as the node.
	for i, m := range slices.Concat(plain, linked) {
		info, err := store.Stat(ctx, s.store, m.path.MustKey(m.sources[len(m.sources)-1].name))
		if err != nil {
			return err
		}
		m.alias = i >= len(plain) && !info.Version.IsZero() && seen[info.Version]
		seen[info.Version] = true
	}
	return nil
}

// own returns the members without aliases.
func (s *survey) own() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.alias })
}

// directories yields the directories of members, relative to the converted node.
func (s *survey) directories() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range s.members {
			if !yield(m.Path) {
				return
			}
		}
	}
}

// noteImaging notes the version of OME-Zarr around each group: its own, that of a group
// above it, or else that of the nearest group which has one in it.
func (s *survey) noteImaging() {
	of, within := map[string]string{}, map[string]string{}
	for _, m := range slices.Backward(s.members) { // the first one in a group counts
		g, isGroup := m.node.(*metadata.Group)
		if !isGroup {
			continue
		}
		if of[m.Path] = ome.Version(g.Attributes, m.path.Name()); of[m.Path] != "" {
			above(m.Path, func(at string) bool { within[at] = of[m.Path]; return false })
		}
	}
	for _, m := range s.members {
		for _, versions := range []map[string]string{of, within} {
			above(m.Path, func(at string) bool {
				m.imaging = cmp.Or(m.imaging, versions[at])
				return m.imaging != ""
			})
		}
	}
}

// above calls visit for a path and for the groups above it, until it returns true.
func above(at string, visit func(at string) bool) {
	for !visit(at) && at != "" {
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
	}
}

// masksFill reports whether the fill value of an array is a mask in format 2. It notes
// the axes of a level of an image.
func (s *survey) masksFill(ctx context.Context, m *member) (bool, error) {
	a, ok := m.node.(*metadata.Array)
	if !ok {
		return false, nil
	}
	if s.images.Store == nil {
		s.images.Reader = tree.Reader{Store: s.store, Limits: metadata.Limits{Document: copying.DocumentLimit(s.limits)}}
	}
	if a.Format() == 2 {
		var err error
		if m.axes, err = s.images.Axes(ctx, m.path); err != nil {
			return false, err
		}
		return s.images.MasksFill(ctx, m.path, a)
	}
	if attributes.Unnamed(a) != "" {
		return false, nil
	}
	level, err := s.images.IsLevel(ctx, m.path)
	return !level, err
}

// unchanged returns an error if a document of the node has changed since it was read.
func (s *survey) unchanged(ctx context.Context, m *member) error {
	for _, was := range m.sources {
		raw, err := s.get(ctx, m.path, was.name)
		if err != nil {
			return err
		}
		if sha256.Sum256(raw) != was.digest {
			return fmt.Errorf("%w: %s was changed while it was converted; convert it again", zarr.ErrSourceChanged, m.path.MustKey(was.name))
		}
	}
	return nil
}

// translate makes the document of the other format. filled is set if the fill value is a
// mask in format 2. keys adapts the chunk keys.
func (m *member) translate(to int, filled bool, keys func(*metadata.Array) *metadata.Array) error {
	switch n := m.node.(type) {
	case *metadata.Group:
		if n.Format() != to {
			moved, note, err := ome.Moved(n.Attributes, m.path.Name(), m.imaging, to)
			if err == nil {
				n, err = n.WithAttributes(moved)
			}
			if m.Imaging = note; err != nil {
				return err
			}
		}
		if to == 3 {
			m.result = n.ToV3().WithConsolidated(nil)
		} else {
			m.result = n.ToV2().WithConsolidated(nil)
		}
		return nil
	case *metadata.Array:
		if m.result = n; n.Format() == to {
			return nil
		}
		return m.translateArray(n, to, filled, keys)
	}
	return nil
}

func (m *member) translateArray(n *metadata.Array, to int, filled bool, keys func(*metadata.Array) *metadata.Array) (err error) {
	translate := masking.ToV3
	if to == 2 {
		translate = masking.ToV2
	}
	if m.mask, err = translate(n, filled); err != nil {
		return err
	}
	if to == 3 {
		m.nameAxes(m.mask.Array)
	} else {
		if m.Growth, err = withoutPolicy(m.mask.Array); err != nil {
			return err
		}
	}
	a := keys(m.mask.Array)
	if m.Missing, m.Lost, m.Refused = m.mask.Note, m.mask.Lost, m.mask.Refused; to == 2 {
		if a, err = a.ToV2(metadata.Limits{}); err != nil {
			return err
		}
		if m.mask.Null {
			a = a.WithNullFill()
		}
	}
	m.result = a
	return nil
}

// withoutPolicy removes a stored growth policy that regular chunks cannot follow, because
// every append would be refused. It returns a note for the caller, or "" if it removes
// nothing. An attribute that is not a valid policy stays.
func withoutPolicy(a *metadata.Array) (note string, err error) {
	raw, found, err := metadata.Attribute(a.Attributes, own.Growth)
	if err != nil || !found {
		return "", nil // attributes that are null
	}
	var stored struct {
		Policy string `json:"policy"`
	}
	if json.Unmarshal(raw, &stored) != nil {
		return "", nil
	}
	g, err := grid.ParseGrowth(stored.Policy)
	text := g.String()
	switch {
	case errors.Is(err, grid.ErrCalendar):
		text = stored.Policy
	case err != nil || g.KeepsRegular():
		return "", nil
	}
	a.Attributes, err = metadata.UnsetAttribute(a.Attributes, own.Growth)
	return fmt.Sprintf("attribute %s, %.80s, is removed: format 2 has regular chunks only, which cannot follow it", own.Growth, text), err
}

// nameAxes gives an array without dimension names those of the axes of its image, which
// OME-Zarr 0.5 asks for. Names that it has stay, because xarray knows the axes by them.
func (m *member) nameAxes(a *metadata.Array) {
	switch {
	case len(m.axes) != len(a.Shape) || slices.Contains(m.axes, ""):
	case len(a.DimensionNames) == 0:
		for i := range m.axes {
			a.DimensionNames = append(a.DimensionNames, &m.axes[i])
		}
	case !slices.EqualFunc(a.DimensionNames, m.axes, func(name *string, axis string) bool { return name != nil && *name == axis }):
		m.Imaging = "the names of its dimensions stay, although OME-Zarr 0.5 asks for those of the axes of its image: " + strings.Join(m.axes, ", ")
	}
}

// unknown returns a message about the members of the document that the new format does
// not have, or "".
func (m *member) unknown(to int) string {
	is, ok := m.node.(interface{ UnknownMembers() []string })
	if !ok || m.From == to || len(is.UnknownMembers()) == 0 {
		return ""
	}
	return fmt.Sprintf("the document has members that are not known here, and format %d has none such: %.300s", to, strings.Join(is.UnknownMembers(), ", "))
}

// named sets m.Reserved if the name is reserved in the new format.
func (m *member) named(to int, place store.Path) {
	name := place.Name()
	if m.Path != "" {
		name = m.path.Name()
	}
	m.Reserved = to == 3 && own.Reserved(name)
}

// opens returns an error if the new document cannot be opened although the old one can.
func (m *member) opens(ctx context.Context, opt *zarr.Options) error {
	// If the old document cannot be opened either, the conversion loses nothing.
	if _, isArray := m.result.(*metadata.Array); !isArray || openable(ctx, m.node, opt) != nil {
		return nil
	}
	return openable(ctx, m.result, opt)
}

// openable opens a node that consists of its documents only.
func openable(ctx context.Context, n metadata.Node, opt *zarr.Options) error {
	s := memstore.New()
	documents, err := documentsOf(n)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if _, err := store.Write(ctx, s, store.Put(store.MustKey(d.name), d.bytes), store.Flush); err != nil {
			return err
		}
	}
	_, err = zarr.At(s, "").Open(ctx, opt)
	return err
}

// text is a document to be written.
type text struct {
	name  string
	bytes []byte
}

// documentsOf returns the documents of a node in the order in which they are written.
func documentsOf(n metadata.Node) ([]text, error) {
	document, err := n.Marshal(metadata.Limits{})
	if err != nil {
		return nil, err
	}
	attributes, err := n.MarshalAttributes(metadata.Limits{})
	if err != nil {
		return nil, err
	}
	var list []text
	if attributes != nil && string(bytes.TrimSpace(attributes)) != "{}" {
		list = append(list, text{nodename.V2Attributes, attributes})
	}
	return append(list, text{n.Document(), document}), nil
}

// documents returns the new documents of the member in the order in which they are
// written.
func (m *member) documents() ([]text, error) {
	list, err := documentsOf(m.result)
	// Insert the index before the last document, which makes the node visible.
	if err == nil && m.index != nil {
		list = slices.Insert(list, len(list)-1, text{nodename.V2Consolidated, m.index})
	}
	return list, err
}

// consolidate converts the consolidated metadata of groups. It begins with the last
// groups, so that the records of inner groups are complete.
func (s *survey) consolidate(to int) error {
	for i, m := range slices.Backward(s.members) {
		if !m.consolidated {
			continue
		}
		var failed error
		records := s.below(i, &failed)
		if to == 3 {
			c, err := metadata.NewConsolidated(records, metadata.Limits{})
			if err = errors.Join(failed, err); err != nil {
				return err
			}
			m.result = m.result.(*metadata.Group).WithConsolidated(c)
			continue
		}
		own, err := metadata.Record(m.result, metadata.Limits{})
		if err != nil {
			return err
		}
		c, err := metadata.NewConsolidatedV2(own, records, metadata.Limits{})
		if err = errors.Join(failed, err); err != nil {
			return err
		}
		if m.index, err = c.Marshal(metadata.Limits{}); err != nil {
			return err
		}
	}
	return nil
}

// below yields the paths and records of all nodes below member i.
func (s *survey) below(i int, failed *error) iter.Seq2[string, []byte] {
	prefix := s.members[i].Path + "/"
	if prefix == "/" {
		prefix = ""
	}
	return func(yield func(string, []byte) bool) {
		for _, m := range s.members[i+1:] {
			path, below := strings.CutPrefix(m.Path, prefix)
			if !below {
				return // the members below it are contiguous
			}
			n := m.result
			if g, isGroup := n.(*metadata.Group); isGroup {
				n = g.WithConsolidated(nil)
			}
			record, err := metadata.Record(n, metadata.Limits{})
			if err != nil {
				*failed = err
				return
			}
			if !yield(path, record) {
				return
			}
		}
	}
}
