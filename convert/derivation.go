// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// Derived is an array that [Derive] makes in the place of a copy.
type Derived struct {
	// Document describes the array. It has the format of the source.
	Document *metadata.Array
	// Write stores the chunks of the array, which is open for writing. Other programs do
	// not see the array yet. Write must not change its document or attributes.
	Write func(ctx context.Context, a *zarr.Array) error
	// Confirm returns an error if the source has changed since it was read, so that what
	// Write has stored may be of no single state. It is called before any document is
	// written.
	Confirm func(ctx context.Context) error
}

// Derivation lists the arrays that [Derive] makes anew, and which values of an
// interrupted call it uses.
type Derivation struct {
	// Arrays are made in the place of copies. The key is the path below the node, "" for
	// the node itself.
	Arrays map[string]Derived
	// Attributes change those of groups, given the JSON object of the source. The key is
	// the path below the node.
	Attributes map[string]func(object []byte) ([]byte, error)
	// Anew, if not nil, is called with each array whose codecs are in an order in which
	// programs other than HDF5 cannot encode chunks, and with the reason. Derive encodes
	// its chunks again, by the same codecs in another order.
	Anew func(path, reason string)
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

// Derive copies a node as [transfer.Copy] does, but makes some of its arrays anew.
// Consolidated metadata is made anew, too.
//
// The source of a derived array may change meanwhile, if Confirm permits it, and so
// may the consolidated metadata that describe it. What a failure leaves, and the other
// errors, are those of [transfer.Copy]. Values of other arrays are copied again after an
// interruption.
func Derive(ctx context.Context, src, dst *zarr.Location, d Derivation, opt *transfer.Options) (transfer.Report, error) {
	if opt == nil {
		opt = new(transfer.Options)
	}
	c := &conversion{opt: new(Options), derivation: &d}
	var err error
	if c.pair, err = copying.New(ctx, src, dst, copying.Options(*opt)); err == nil {
		if d.Work != "" {
			c.pair.Note, c.pair.Keep = fmt.Appendf(nil, "{\"derivation\": %q}\n", d.Work), d.Keep
		}
		err = c.run(ctx)
	}
	c.count.report.Restarted = c.pair.Restarted
	if err != nil {
		return c.count.report, copying.Wrap("copy", src.Path(), err)
	}
	return c.count.report, nil
}

// checkNote returns an error if another call has begun another derivation at the
// destination: it has deleted what this one has stored.
func (d *Derivation) checkNote(ctx context.Context, c *conversion) error {
	if d == nil || d.Work == "" {
		return nil
	}
	isOwn, err := c.pair.HasNote(ctx)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isOwn {
		return fmt.Errorf("%w: another call has begun to make a node here; wait for it, or choose another place", store.ErrConflict)
	}
	return err
}

// derive gives the members that are made anew their documents. All others stay as they
// are.
func (c *conversion) derive(ctx context.Context, m *member) error {
	m.result = m.node
	if g, isGroup := m.node.(*metadata.Group); isGroup {
		c.count.report.Groups++
		g = g.WithConsolidated(nil)
		m.result = g
		if change := c.derivation.Attributes[m.Path]; change != nil {
			object, err := change(g.Attributes)
			if err != nil {
				return err
			}
			if g, err = g.WithAttributes(object); err != nil {
				return err
			}
			m.result = g
		}
		return nil
	}
	c.count.report.Arrays++
	d, ok := c.derivation.Arrays[m.Path]
	if !ok && c.derivation.Anew != nil && m.isMisordered() {
		c.derivation.Anew(m.Path, errOrder.Error())
		m.reason = errOrder
		return c.recode(ctx, m)
	}
	if !ok {
		return nil
	}
	if d.Document.Format() != m.From {
		return fmt.Errorf("%w: it was replaced by another node; begin again", zarr.ErrSourceChanged)
	}
	m.result, m.derived = d.Document, &d
	// A key whose chunk was set aside holds another one, and Write may copy it.
	return copying.CheckTrimmed(ctx, c.pair.Source.Location.Root(), m.path, c.pair.Reading())
}

// countCopies counts the values that a dry run of [Derive] would copy, and their bytes.
func (c *conversion) countCopies(ctx context.Context) error {
	if c.derivation == nil {
		return nil
	}
	for _, m := range c.survey.members {
		if m.Kind == "group" || m.derived != nil || m.reason != nil {
			continue
		}
		if err := c.eachValue(ctx, m, func(ctx context.Context, _, was string) (int64, error) {
			info, err := store.Stat(ctx, c.pair.Source.Store, m.path.MustKey(was))
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
	case c.derivation != nil && m.Kind == "group" && m.consolidated:
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
		was, err := bare(m.node)
		if err != nil {
			return err
		}
		is, err := bare(now.node)
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
	return metadata.Record(n.(*metadata.Group).WithConsolidated(nil), metadata.Limits{})
}
