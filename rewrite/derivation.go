// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"bytes"
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Derived is an array that [Derive] makes in the place of a copy.
type Derived struct {
	// Document describes the array. It has the format of the source.
	Document *metadata.Array
	// Write stores the chunks of the array, which is open for writing. Nobody sees them
	// yet. Document and attributes must stay.
	Write func(ctx context.Context, a *zarr.Array) error
	// Confirm returns an error if the source has changed since it was read, so that what
	// Write has stored may be of no single state. It is called before any document is
	// written.
	Confirm func(ctx context.Context) error
}

// Derivation says what [Derive] makes anew, and how it goes on after an interruption.
type Derivation struct {
	// Arrays are made in the place of copies. The key is the path below the node, "" for
	// the node itself.
	Arrays map[string]Derived
	// Attributes change those of groups, given the JSON object of the source. The key is
	// the path below the node.
	Attributes map[string]func(object []byte) ([]byte, error)
	// Work identifies what is made: two derivations with the same Work have the same
	// result, as long as the chunks of the source do not change. "" is unique.
	Work string
	// Keep is called before anything is written if an unfinished derivation with the same
	// Work has left something. It returns which values stay, given their names below
	// the destination; all others are deleted. If Keep or what it returns is nil, none
	// stays.
	Keep func(ctx context.Context) (func(name string) bool, error)
	// Clean, if not nil, is called before the document of the node itself is stored, as
	// the last one. It deletes what Write has stored besides chunks.
	Clean func(ctx context.Context) error
}

// Derive copies a node as [Copy] does, but makes some of its arrays anew. Consolidated
// metadata is made anew, too.
//
// The source of a derived array may change meanwhile, as far as Confirm permits, and so
// may the consolidated metadata that describe it. What a failure leaves, and the other
// errors, are those of [Copy]. Values of other arrays are copied again after an
// interruption.
func Derive(ctx context.Context, src, dst *zarr.Location, d Derivation, opt *Options) (Report, error) {
	c := &conversion{derived: d.Arrays}
	if c.derived == nil {
		c.derived = map[string]Derived{} // nil is a conversion
	}
	var err error
	if c.copier, err = newCopier(ctx, src, dst, opt); err == nil {
		err = opt.alone()
	}
	if err == nil {
		c.derivation = d
		err = c.run(ctx)
	}
	if err != nil {
		return c.report, wrap("copy", src.Path(), err)
	}
	return c.report, nil
}

// derive gives the members that are made anew their documents. All others stay as they
// are.
func (c *conversion) derive(ctx context.Context, m *member) error {
	m.will = m.is
	if g, isGroup := m.is.(*metadata.Group); isGroup {
		c.report.Groups++
		g = g.WithConsolidated(nil)
		m.will = g
		if change := c.derivation.Attributes[m.Path]; change != nil {
			object, err := change(g.Attributes)
			if err != nil {
				return err
			}
			if g, err = g.WithAttributes(object); err != nil {
				return err
			}
			m.will = g
		}
		return nil
	}
	c.report.Arrays++
	d, ok := c.derived[m.Path]
	if !ok {
		return nil
	}
	if d.Document.Format() != m.From {
		return fmt.Errorf("%w: it was replaced by another node; begin again", zarr.ErrSourceChanged)
	}
	m.will, m.derived = d.Document, &d
	// A key whose chunk was set aside holds another one, and Write may copy it.
	return notAside(ctx, c.from, m.path, func() (*zarr.Array, error) {
		return c.src.Root().At(m.path.String()).OpenArray(ctx, c.reading())
	})
}

// countCopies counts the values that a dry run of [Derive] would copy, and their bytes.
func (c *conversion) countCopies(ctx context.Context) error {
	if c.derived == nil {
		return nil
	}
	for _, m := range c.survey.members {
		if m.Kind == "group" || m.derived != nil {
			continue
		}
		if err := c.eachValue(ctx, m, func(ctx context.Context, _, was string) (int64, error) {
			info, err := store.Stat(ctx, c.from, m.path.MustKey(was))
			return info.Size, err
		}); err != nil {
			return err
		}
	}
	return nil
}

// unchanged returns an error if a member has changed since it was read. The consolidated
// metadata of a group change with its members.
func (c *conversion) unchanged(ctx context.Context, m *member) error {
	switch {
	case m.derived != nil:
		return m.derived.Confirm(ctx)
	case c.derived != nil && m.Kind == "group" && m.consolidated:
		return c.unchangedGroup(ctx, m)
	}
	return c.survey.unchanged(ctx, m)
}

// unchangedGroup is unchanged for a group, without its consolidated metadata.
func (c *conversion) unchangedGroup(ctx context.Context, m *member) error {
	now, err := c.survey.member(ctx, m.path, m.Path)
	if err != nil {
		return err
	}
	same := now != nil && now.Kind == "group" && now.From == m.From
	if same {
		was, err := bare(m.is)
		if err != nil {
			return err
		}
		is, err := bare(now.is)
		if err != nil {
			return err
		}
		same = bytes.Equal(was, is)
	}
	if !same {
		return fmt.Errorf("%w: %q was changed while it was copied; copy it again", zarr.ErrSourceChanged, "/"+m.path.String())
	}
	return nil
}

// bare returns a group without consolidated metadata, as one document.
func bare(n metadata.Node) ([]byte, error) {
	return n.(*metadata.Group).WithConsolidated(nil).Record(metadata.Limits{})
}

// open opens a member for writing, before any document is stored. The documents are only
// in an overlay, so that other programs do not see the array yet.
func (c *conversion) open(ctx context.Context, m *member) (*zarr.Array, error) {
	return c.openAs(ctx, m, false)
}

// openBlind is open for an array whose chunks are not read: each is written as if there
// were none.
func (c *conversion) openBlind(ctx context.Context, m *member) (*zarr.Array, error) {
	return c.openAs(ctx, m, true)
}

func (c *conversion) openAs(ctx context.Context, m *member, blind bool) (*zarr.Array, error) {
	place, err := c.goal.Join(m.Path)
	if err != nil {
		return nil, err
	}
	list, err := m.documents()
	if err != nil {
		return nil, err
	}
	v := &overlay{Store: c.copier.to, blind: blind, documents: map[store.Key][]byte{}}
	for _, t := range list {
		v.documents[place.MustKey(t.name)] = t.bytes
	}
	// No other program knows of this array yet, and the overlay supports neither
	// locks nor conditional writes.
	o := *c.reading()
	o.Write, o.SingleWriter = true, true
	return zarr.At(v, place.String()).OpenArray(ctx, &o)
}
