package rewrite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// Converted is a node that was converted, or would be.
type Converted struct {
	Path string // relative to the node that was named, "" for itself
	Kind string // "array" or "group"
	From int    // the format that it had; that of a node which was converted already is the new one
	// Anew says why the chunks of an array are encoded anew, "" where they stay as they
	// are stored.
	Anew string
	// Reserved says that the name begins with "__", which format 3 reserves. The node
	// keeps it, since zarr-python reads and writes such names.
	Reserved bool
	// Missing says what becomes of missing values, "" where nothing has to change.
	Missing string
	// Lost says that missing values become ordinary ones, since format 3 has no way to
	// mark them that xarray reads: those of byte strings.
	Lost bool
	// Refused says that xarray opens no group of format 3 with the array, for an
	// attribute _FillValue that no element can be. Missing says which.
	Refused bool
	// Growth says that the policy by which varve makes an array grow is not kept, since
	// format 2 has regular chunks only; "" where it stays or there is none.
	Growth string
	// Filled counts the chunks that are missing and have to be stored, since they read as
	// something else in format 2, and FilledBytes the bytes of these. Inner chunks that
	// are missing from a shard which is stored are not counted.
	Filled, FilledBytes int64
}

// member is a node on its way from one format to the other.
type member struct {
	Converted
	path         store.Path    // in the store
	is, will     metadata.Node // in the old and in the new format
	sources      []source      // the documents that were read
	others       []string      // documents of the other format that stand beside them
	alias        bool          // another name of a member
	consolidated bool          // the group has consolidated metadata
	index        []byte        // the document of that, in format 2
	why          error         // why chunks cannot stay as they are
	mask         *mask         // missing values, nil where the format stays
	gaps         *gaps         // chunks that have to be stored, nil where there are none
}

// source is a document that was read.
type source struct {
	name   string
	digest [sha256.Size]byte
}

// survey reads nodes.
type survey struct {
	store  store.Store
	limits zarr.Limits
	// told returns the names of the nodes that the metadata of a group tells of, for a
	// store that cannot be listed. Nil where the store has to be.
	told    func(ctx context.Context, p store.Path) ([]string, error)
	members []*member // parents first
}

// get reads a document, nil where there is none.
func (s *survey) get(ctx context.Context, p store.Path, name string) ([]byte, error) {
	limit := s.limits.Document
	if limit <= 0 {
		limit = 64 << 20
	}
	raw, _, err := s.store.Get(ctx, p.Key(name), store.Request{Limit: limit}, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, store.ErrTooLarge):
		err = fmt.Errorf("%w: %w (Limits.Document)", zarr.ErrLimit, err)
	}
	return raw, err
}

// walk reads the node at a path, if there is one, and those below it.
func (s *survey) walk(ctx context.Context, p store.Path, relative string) error {
	m, err := s.member(ctx, p, relative)
	if m == nil || err != nil {
		return err
	}
	s.members = append(s.members, m)
	if m.Kind == "array" {
		return nil
	}
	names, err := s.children(ctx, p)
	if err != nil {
		return err
	}
	for _, name := range names {
		below, err := p.Join(name)
		if err != nil {
			continue // no legal name of a node
		}
		if err := s.walk(ctx, below, strings.TrimPrefix(relative+"/"+name, "/")); err != nil {
			return err
		}
	}
	return nil
}

// children returns the names of what may be nodes below a group, in order.
func (s *survey) children(ctx context.Context, p store.Path) ([]string, error) {
	var names []string
	for e, err := range store.List(ctx, s.store, p, false) {
		if errors.Is(err, store.ErrUnsupported) && s.told != nil {
			return s.told(ctx, p)
		}
		if err != nil {
			return nil, err
		}
		if e.Dir {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// member reads the documents of a node: those of format 3 where both are there. It is nil
// where there is none.
func (s *survey) member(ctx context.Context, p store.Path, relative string) (*member, error) {
	m := &member{Converted: Converted{Path: relative}, path: p}
	raw := map[string][]byte{}
	for _, name := range documentNames {
		document, err := s.get(ctx, p, name)
		if err != nil {
			return nil, err
		}
		if document != nil {
			raw[name] = document
		}
	}
	names := []string{metadata.V3Node}
	var err error
	switch {
	case raw[metadata.V3Node] != nil:
		m.is, err = metadata.Parse(raw[metadata.V3Node], metadata.Limits{})
	case raw[metadata.V2Array] != nil:
		names = []string{metadata.V2Array, metadata.V2Attributes}
		m.is, err = metadata.ParseV2(metadata.V2Array, raw[metadata.V2Array], raw[metadata.V2Attributes], metadata.Limits{})
	case raw[metadata.V2Group] != nil:
		names = []string{metadata.V2Group, metadata.V2Attributes}
		m.is, err = metadata.ParseV2(metadata.V2Group, raw[metadata.V2Group], raw[metadata.V2Attributes], metadata.Limits{})
		m.consolidated = raw[metadata.V2Consolidated] != nil
	default:
		return nil, nil
	}
	if err != nil {
		return nil, wrap("convert", p.String(), fmt.Errorf("%w: %w", kindOfDocument(err), err))
	}
	m.Kind, m.From = "array", m.is.Format()
	if g, isGroup := m.is.(*metadata.Group); isGroup {
		m.Kind = "group"
		m.consolidated = m.consolidated || g.Consolidated != nil
	}
	for _, name := range documentNames {
		if slices.Contains(names, name) {
			m.sources = append(m.sources, source{name, sha256.Sum256(raw[name])})
		} else if raw[name] != nil && m.From == 3 {
			m.others = append(m.others, name)
		}
	}
	return m, nil
}

// kindOfDocument returns the name that package zarr has for what is wrong with a
// document.
func kindOfDocument(err error) error {
	if errors.Is(err, metadata.ErrUnsupported) {
		return zarr.ErrUnsupported
	}
	return zarr.ErrInvalidMetadata
}

// translate makes the document of the other format. keys may change those of format 3
// that format 2 does not have.
func (m *member) translate(to int, keys func(*metadata.Array) *metadata.Array) error {
	switch n := m.is.(type) {
	case *metadata.Group:
		if to == 3 {
			m.will = n.ToV3().WithConsolidated(nil)
		} else {
			m.will = n.ToV2().WithConsolidated(nil)
		}
		return nil
	case *metadata.Array:
		if m.will = n; n.Format() == to {
			return nil
		}
		return m.translateArray(n, to, keys)
	}
	return nil
}

// named notes that a node which becomes one of format 3 has a name that this format
// reserves.
func (m *member) named(to int, place store.Path) {
	name := place.Name()
	if m.Path != "" {
		name = m.path.Name()
	}
	m.Reserved = to == 3 && own.Reserved(name)
}

func (m *member) translateArray(n *metadata.Array, to int, keys func(*metadata.Array) *metadata.Array) (err error) {
	translate := maskToV3
	if to == 2 {
		translate = maskToV2
	}
	if m.mask, err = translate(n); err != nil {
		return err
	}
	if to == 2 {
		if m.Growth, err = withoutPolicy(m.mask.array); err != nil {
			return err
		}
	}
	a := keys(m.mask.array)
	if m.Missing, m.Lost, m.Refused = m.mask.note, m.mask.lost, m.mask.refused; to == 2 {
		if a, err = a.ToV2(metadata.Limits{}); err != nil {
			return err
		}
		if m.mask.null {
			a = a.WithNullFill()
		}
	}
	m.will = a
	return nil
}

// opens reports whether what the member will be can be opened where what it is can.
func (m *member) opens(ctx context.Context, opt *zarr.Options) error {
	if _, isArray := m.will.(*metadata.Array); !isArray || openable(ctx, m.is, opt) != nil {
		return nil
	}
	return openable(ctx, m.will, opt)
}

// openable opens a node with nothing but its documents.
func openable(ctx context.Context, n metadata.Node, opt *zarr.Options) error {
	s := memstore.New()
	documents, err := documentsOf(n)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if _, err := s.Put(ctx, store.MustKey(d.name), d.bytes, store.Flush); err != nil {
			return err
		}
	}
	_, err = zarr.At(s, "").Open(ctx, opt)
	return err
}

// text is a document that is to be written.
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
		list = append(list, text{metadata.V2Attributes, attributes})
	}
	return append(list, text{n.Document(), document}), nil
}

// documents returns the documents that the member will have, in the order in which they
// are written.
func (m *member) documents() ([]text, error) {
	list, err := documentsOf(m.will)
	if err == nil && m.index != nil {
		list = slices.Insert(list, len(list)-1, text{metadata.V2Consolidated, m.index})
	}
	return list, err
}

// consolidate gives the groups that have consolidated metadata the same in the other
// format. The last ones come first, so that what a group tells of is complete.
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
			m.will = m.will.(*metadata.Group).WithConsolidated(c)
			continue
		}
		own, err := m.will.Record(metadata.Limits{})
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
				return // parents come first, so those below follow at once
			}
			n := m.will
			if g, isGroup := n.(*metadata.Group); isGroup {
				n = g.WithConsolidated(nil)
			}
			record, err := n.Record(metadata.Limits{})
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
