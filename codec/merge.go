package codec

import "context"

// MergePart is a stored chunk that becomes a part of a longer one.
type MergePart struct {
	// Start is where its first element comes to be in the new chunk, and Shape its
	// encoded shape; both in elements, a number an axis.
	Start, Shape []int64
	// Source is the stored chunk, nil where none is stored. It may also turn out not to
	// be.
	Source Source
}

// Merge makes one chunk of the given encoded shape of stored chunks that lie side by
// side, from their inner chunks as they are encoded: nothing is decoded. What no part
// covers, and what is not stored in them, is not stored in the new chunk either. The
// caller releases what it gets, which needs no older version; Empty tells that nothing is
// stored.
//
// The inner chunks of a part have to be inner chunks of the new one: they begin at the
// same elements and have the same shapes, so that an inner chunk which is clipped comes
// to lie at the end of the new chunk. Parts that do not fit, or have an inner chunk in
// common, wrap [ErrConfiguration], and are to be decoded instead. A damaged part wraps
// [ErrCorrupt]. The bytes of all parts are in memory at a time. It is for chains that are
// [Chain.Divided].
func (c *Chain) Merge(ctx context.Context, w *Work, shape []int64, parts []MergePart) (*Edited, error) {
	if !c.inOrder {
		shape = c.permuted(shape)
		permuted := make([]MergePart, len(parts))
		for i, p := range parts {
			if len(p.Start) != len(c.order) || len(p.Shape) != len(c.order) {
				continue // the codec says so
			}
			permuted[i] = MergePart{c.permuted(p.Start), c.permuted(p.Shape), p.Source}
		}
		parts = permuted
	}
	out, err := c.serial.(Divider).Merge(ctx, w, shape, parts)
	return out, c.failSerial(err)
}
