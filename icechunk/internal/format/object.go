// SPDX-License-Identifier: Apache-2.0

// Package format reads and writes the objects of an Icechunk repository, as the Icechunk
// specification, versions 1 and 2, describes them.
//
// Objects come from anywhere. A parser checks every offset and count before it uses them,
// and visits no more tables than an object of its length can have.
package format

import (
	"bytes"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr"
)

// ErrDamaged means that an object is not what the specification describes.
var ErrDamaged = fmt.Errorf("%w: the object of the repository is damaged", zarr.ErrCorrupt)

// ErrVersion means that an object has a version of the specification that is not known.
var ErrVersion = fmt.Errorf("%w: unknown version of the Icechunk specification", zarr.ErrUnsupported)

// ObjectID identifies a snapshot, a manifest, a transaction log or a chunk.
type ObjectID [12]byte

// NodeID identifies a node through its life.
type NodeID [8]byte

// crockford is the alphabet of IDs in names.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// String returns the ID as names of objects have it: 20 characters.
func (o ObjectID) String() string { return crockford.EncodeToString(o[:]) }

// String returns the ID in 13 characters.
func (n NodeID) String() string { return crockford.EncodeToString(n[:]) }

// ParseObjectID parses the text of an ID. ok is false for other text.
func ParseObjectID(text string) (id ObjectID, ok bool) {
	raw, err := crockford.DecodeString(strings.ToUpper(text))
	if err != nil || len(raw) != len(id) {
		return id, false
	}
	copy(id[:], raw)
	// The last character has bits beyond the ID, which are 0.
	return id, id.String() == strings.ToUpper(text)
}

// InitialSnapshot is the ID of the first snapshot of every repository.
var InitialSnapshot = ObjectID{0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34}

// Kind is what an object is.
type Kind uint8

// The kinds of objects that have an envelope.
const (
	KindSnapshot       Kind = 1
	KindManifest       Kind = 2
	KindTransactionLog Kind = 4
	KindRepository     Kind = 6
)

var kindNames = map[Kind]string{KindSnapshot: "snapshot", KindManifest: "manifest", KindTransactionLog: "transaction log", KindRepository: "repository"}

// String returns the name of the kind.
func (k Kind) String() string {
	if name := kindNames[k]; name != "" {
		return name
	}
	return fmt.Sprintf("object of kind %d", uint8(k))
}

// The envelope: magic bytes, the name of the program, version, kind and compression.
const (
	magic          = "ICE🧊CHUNK"
	programLength  = 24
	versionAt      = len(magic) + programLength
	kindAt         = versionAt + 1
	compressionAt  = versionAt + 2
	envelopeLength = versionAt + 3
)

// Envelope is what precedes the body of an object.
type Envelope struct {
	Program string // that has written it
	Version int    // of the specification
}

// Open returns the body of an object. limit bounds the decoded body, in bytes.
func Open(data []byte, want Kind, limit int64) (e Envelope, body []byte, err error) {
	if len(data) < envelopeLength || string(data[:len(magic)]) != magic {
		return e, nil, fmt.Errorf("%w: it does not begin as an object of Icechunk", ErrDamaged)
	}
	e.Program = strings.TrimRight(string(data[len(magic):versionAt]), " \x00")
	if e.Version = int(data[versionAt]); e.Version != 1 && e.Version != 2 {
		return e, nil, fmt.Errorf("%w: %d, and 1 and 2 are read", ErrVersion, e.Version)
	}
	if is := Kind(data[kindAt]); is != want {
		return e, nil, fmt.Errorf("%w: it is a %v in the place of a %v", ErrDamaged, is, want)
	}
	body = data[envelopeLength:]
	switch c := data[compressionAt]; c {
	case 0:
		return e, body, nil
	case 1:
		body, err = decompress(body, limit)
		return e, body, err
	default:
		return e, nil, fmt.Errorf("%w: compression %d", ErrVersion, c)
	}
}

// window bounds the window of a frame. The decoder refuses one that is larger than its
// limit, also of a small body. Up to level 19 windows have at most 8 MiB.
const window = 8 << 20

// decompress decodes a frame of Zstandard of at most limit bytes.
func decompress(frame []byte, limit int64) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(limit, window))))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	body, err := d.DecodeAll(frame, nil)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("it is cut short: %w", err)
	case err == nil && int64(len(body)) > limit:
		err = fmt.Errorf("its length is above %d", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return body, nil
}

// identifier is that of the schemas, in bytes 4 to 8 of a body.
const identifier = "Ichk"

// root returns the table that a body has.
func root(body []byte) (*buffer, table, error) {
	if len(body) < 8 || len(body) > math.MaxInt32 || !bytes.Equal(body[4:8], []byte(identifier)) {
		return nil, table{}, fmt.Errorf("%w: it is no FlatBuffer of Icechunk", ErrDamaged)
	}
	b := newBuffer(body)
	t := b.table(b.offset(0))
	return b, t, b.err
}
