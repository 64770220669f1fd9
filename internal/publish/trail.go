// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
)

// A document in a store without locks ends in a trail: white space that has the IDs of
// the writes that led to it. The trail serves two purposes:
//
//   - No document that this program writes there has the bytes of an earlier one. So its
//     version never comes back, even if the store derives versions from the content, and
//     a write that arrives late or twice fails.
//   - A writer that does not know whether its write was carried out finds the ID of the
//     write, even if others have published since. An answer cannot tell: a proxy may
//     deliver a request twice, and then the answer is that the condition does not hold.
//
// White space after the JSON value means nothing to any reader, and it is part of every
// document in every store. Metadata of objects are not: they do not change an ETag on S3,
// and programs that copy objects may drop them.
//
// Each ID is a line of its own: a space for a publication or a tab for a fence, 64 spaces
// and tabs for its bits, and a tab. A trail has the last publications, oldest first, and
// perhaps the fence that was raised since. Another program drops the trail when it
// rewrites the document, and so does a single writer. Then the next one begins with a
// hash of that document. A document in a store with locks has a trail only after a
// warning (see [Warned]), until it is published again.

// writeID identifies one write of a document.
type writeID uint64

// newID returns an ID that no other write has.
func newID() writeID {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return writeID(binary.BigEndian.Uint64(b[:]))
}

// idOf returns the ID that belongs to a text.
func idOf(text []byte) writeID {
	sum := sha256.Sum256(text)
	return writeID(binary.BigEndian.Uint64(sum[:]))
}

// trail is what the end of a document tells about its writes.
type trail struct {
	published []writeID // the last ones, oldest first; at least one
	fence     writeID   // the one that was raised since, or 0
	warned    bool      // see [Warned]
}

const (
	mostPublished = 16
	bitsOfID      = 64
	publication   = ' '
	fenceLine     = '\t'
	lengthOfLine  = 1 + bitsOfID + 1
	// mostTrail is the most bytes that a trail has.
	mostTrail = len("\n") + (mostPublished+1)*(lengthOfLine+len("\n")) + len(mark+"\n")
)

// withoutTrail returns a document without the white space at its end.
func withoutTrail(document []byte) []byte { return bytes.TrimRight(document, " \t\r\n") }

// trailOf returns the trail of a document. A document without one counts as a publication
// of its own.
func trailOf(document []byte) trail {
	t := trail{warned: Warned(document)}
	lines := strings.Split(string(document[len(withoutTrail(document)):]), "\n")
	for _, line := range lines {
		switch kind, id, ok := parseLine(line); {
		case ok && kind == fenceLine:
			t.fence = id
		case ok:
			t.published = append(t.published, id)
		}
	}
	if len(t.published) == 0 {
		t.published = []writeID{idOf(withoutTrail(document))}
	}
	return t
}

// parseLine returns the ID that a line has, if it has one.
func parseLine(line string) (kind byte, id writeID, ok bool) {
	if len(line) != lengthOfLine || strings.Trim(line, " \t") != "" || line[lengthOfLine-1] != '\t' {
		return 0, 0, false
	}
	for _, bit := range line[1 : 1+bitsOfID] {
		if id <<= 1; bit == '\t' {
			id |= 1
		}
	}
	return line[0], id, true
}

// appendLine appends the line of an ID.
func appendLine(document []byte, kind byte, id writeID) []byte {
	document = append(document, kind)
	for i := bitsOfID - 1; i >= 0; i-- {
		document = append(document, " \t"[id>>i&1])
	}
	return append(document, '\t', '\n')
}

// checkTrailRoom returns an error if a document could exceed the node's limit once it
// has a trail. Then nobody with that limit could read it. A limit of 0 means no limit.
func (n Node) checkTrailRoom(document []byte) error {
	if need := int64(len(withoutTrail(document)) + mostTrail); n.Limit > 0 && need > n.Limit {
		return fmt.Errorf("%w: %s would have up to %s with the IDs of its writes, and %d are accepted"+remedy.LimitsDocument,
			store.ErrTooLarge, n.key(), quantity.Count(need, "bytes"), n.Limit)
	}
	return nil
}

// appendTo returns a document with this trail.
func (t trail) appendTo(document []byte) []byte {
	document = append(slices.Clone(withoutTrail(document)), '\n')
	for _, id := range t.published[max(0, len(t.published)-mostPublished):] {
		document = appendLine(document, publication, id)
	}
	if t.fence != 0 {
		document = appendLine(document, fenceLine, t.fence)
	}
	if t.warned {
		document = append(document, mark+"\n"...)
	}
	return document
}

// withCreation returns the document of a new node, with the ID of the write that
// creates it.
func withCreation(document []byte, id writeID) []byte {
	return trail{published: []writeID{id}}.appendTo(document)
}

// withPublication returns a document that replaces old, with the ID of the write that
// does.
func withPublication(document, old []byte, id writeID) []byte {
	return trail{published: append(trailOf(old).published, id)}.appendTo(document)
}

// withFence returns a document with the ID of a fence that is raised on it.
func withFence(document []byte, id writeID) []byte {
	t := trailOf(document)
	t.fence = id
	return t.appendTo(document)
}

// Renewed returns a document with the ID of a new fence: bytes that no document has ever
// had, with the same meaning.
func Renewed(document []byte) []byte { return withFence(document, newID()) }

// last returns the publication that the document is.
func (t trail) last() writeID { return t.published[len(t.published)-1] }

// fate is what the present document tells about a write of an earlier one.
type fate int

const (
	fateUnknown fate = iota // the trail does not reach back so far
	fateDone                // the write was carried out
	fateOpen                // nothing has been published since: it may still be on its way
	fateLost                // another write came first, so this one never will be carried out
)

// fateOf tells what became of a publication that replaces a document whose last
// publication is on. It can take effect only while that one is the last.
func (t trail) fateOf(id, on writeID) fate {
	switch {
	case slices.Contains(t.published, id):
		return fateDone
	case t.last() == on:
		return fateOpen
	case slices.Contains(t.published, on):
		return fateLost
	}
	return fateUnknown
}
