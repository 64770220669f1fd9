// SPDX-License-Identifier: Apache-2.0

package metadata

// Group is the metadata of a group (zarr-specs v3.1 core, "Group metadata").
type Group struct {
	// Attributes is a JSON object, verbatim; see [Array.Attributes] for a bare NaN.
	Attributes []byte
	// Consolidated is the metadata of the nodes below, nil if the document has none.
	Consolidated *Consolidated
	// Damaged is set if the group has a document [V2Consolidated] that cannot be
	// read. Consolidated is then nil, the nodes below must be found without it, and
	// writing the document again repairs it.
	Damaged error

	kept    []member
	repairs []repair
	v2      *groupV2 // nil in format 3
}

func (d *document) group(entry bool) (Node, error) {
	d.disown(shape, attributes)
	g := new(Group)
	var err error
	if g.Attributes, err = d.attributes(); err != nil {
		return nil, err
	}
	// Within consolidated metadata another copy would be redundant and possibly stale.
	if v := d.fields[consolidatedMetadata]; !entry && !v.IsZero() {
		if g.Consolidated, err = d.consolidated(v); err != nil {
			return nil, err
		}
	}
	g.kept, g.repairs = d.kept, d.repairs
	return g, d.refused
}

// WithAttributes returns a copy of g with other attributes. If raw is not a JSON object,
// the error wraps [ErrInvalid].
func (g *Group) WithAttributes(raw []byte) (*Group, error) {
	v, err := object(raw)
	if err != nil {
		return nil, under(err, "/attributes")
	}
	h := *g
	h.Attributes = v.Raw()
	h.repairs = rewritten(g.repairs)
	return &h, nil
}

// WithConsolidated returns a copy of g with other consolidated metadata, or without any
// if c is nil.
func (g *Group) WithConsolidated(c *Consolidated) *Group {
	h := *g
	h.Consolidated, h.Damaged = c, nil
	return &h
}

// groupV2 holds what a group of format 2 has in addition.
type groupV2 struct {
	kept []member
}

func (g *Group) node() {}
