// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"io"
	"math"

	"varve.dev/zarr/internal/checked"
)

// Part is a part of the value that [Assemble] builds. It is the bytes of Data or, if Data
// is nil, the N bytes from offset Off on of the value at Key.
type Part struct {
	Data []byte
	Key  Key
	// Version is the version that the value at Key must have. A zero Version permits any,
	// but all parts of one value are from one version.
	Version Version
	Off, N  int64
}

// Within returns an error that wraps [io.ErrUnexpectedEOF] if the part takes bytes that a
// value of size bytes does not have. Drivers call it once they know the size.
func (p Part) Within(size int64) error {
	if p.Data == nil && (p.Off < 0 || p.N < 0 || p.Off > size || p.N > size-p.Off) {
		return fmt.Errorf("store: a part takes %s of %s, which has %d bytes: %w", Span(p.Off, p.N), p.Key, size, io.ErrUnexpectedEOF)
	}
	return nil
}

// Continues reports whether p begins where q ends in the same version of the same value,
// so that one copy can make both.
func (p Part) Continues(q Part) bool {
	return p.Data == nil && q.Data == nil && p.Key == q.Key && p.Version == q.Version && p.Off == q.Off+q.N
}

// PartsOf returns the parts that the fragments of a [Splice] stand for. So a driver can
// splice with the code that assembles.
func PartsOf(key Key, from Version, fragments []Fragment) []Part {
	parts := make([]Part, len(fragments))
	for i, f := range fragments {
		if parts[i].Data = f.Data; f.Data == nil {
			parts[i] = Part{Key: key, Version: from, Off: f.Off, N: f.N}
		}
	}
	return parts
}

// AssembledSize returns the number of bytes that parts make. If a part has a negative
// bound, the error is [io.ErrUnexpectedEOF]. If the sum overflows, it is [ErrTooLarge].
// Parts may take the same bytes several times, so a few numbers can request a value of
// any length: a caller that does not trust its numbers has to limit the sum.
func AssembledSize(parts []Part) (n int64, err error) {
	for i, p := range parts {
		size := p.N
		if p.Data != nil {
			size = int64(len(p.Data))
		}
		if err := p.Within(math.MaxInt64); err != nil {
			return 0, err
		}
		var ok bool
		if n, ok = checked.Add(n, size); !ok {
			return 0, fmt.Errorf("%w: the parts up to %d", ErrTooLarge, i)
		}
	}
	return n, nil
}

// Assembler builds a value from ranges of other values of the same store and new bytes,
// without moving the old bytes through the program. There may be thousands of parts from
// thousands of values.
//
// An object store does so on the server. S3 has UploadPartCopy: each part of a multipart
// upload is a range of another object, on the condition x-amz-copy-source-if-match, and
// CompleteMultipartUpload makes the value visible in one step. All parts but the last
// need 5 MiB, and there are at most 10,000. So a driver joins adjacent parts, and reads
// and uploads the shorter ones. GCS has compose: up to 32 whole objects of expected
// generations, and composed objects again. It takes no ranges, so a driver first writes
// those that are not whole objects to temporary ones.
type Assembler interface {
	// Assemble stores the parts, first to last, as the value at key, and returns the new
	// version. It replaces the value in one step, as Put does. key may be a source.
	//
	// Assemble returns ErrConflict if a source is not of the version of its part, or
	// changes while it is copied; [fs.ErrNotExist] if there is no value at the key of a
	// part that permits any version; the error of [Part.Within] if a source is shorter
	// than its part; and that of [AssembledSize]. Then nothing has changed. After any
	// other error, key has its old value or the new one. A source may be replaced once
	// its bytes are copied, so the parts need not be of one moment. The driver does not
	// keep the bytes of the parts.
	Assemble(ctx context.Context, key Key, parts []Part, d Durability) (Version, error)
}

// AssemblingBatch is a [Batch] that can also assemble. The value becomes visible and
// durable as a Put of the batch does.
type AssemblingBatch interface {
	Batch
	// Assemble is that of [Assembler].
	Assemble(ctx context.Context, key Key, parts []Part) error
}

// Assemble stores parts as the value at key; see [Assembler]. If s is not an Assembler,
// Assemble reads the parts into memory and writes the value. Then the error for parts of
// more than limit bytes in total is [ErrTooLarge]. A limit of 0 means no limit. If s has
// no versions, Assemble tells those of one value apart by size alone.
func Assemble(ctx context.Context, s Store, key Key, parts []Part, limit int64, d Durability) (Version, error) {
	if a, ok := As[Assembler](s); ok {
		return a.Assemble(ctx, key, parts, d)
	}
	if _, ok := As[Writer](s); !ok {
		return Version{}, unsupported(s, "write")
	}
	value, err := gather(ctx, s, parts, limit, nil)
	if err != nil {
		return Version{}, err
	}
	return Put(ctx, s, key, value, d)
}

// BatchAssemble assembles a value as part of b; see [Assembler]. If b is not an
// [AssemblingBatch], the error is [ErrUnsupported]. A batch made by [NewBatch] always is
// one. If neither it nor its store has the power, it reads the parts into memory.
func BatchAssemble(ctx context.Context, b Batch, key Key, parts []Part) error {
	a, ok := b.(AssemblingBatch)
	if !ok {
		return cannot(b, "batch", "assemble")
	}
	return a.Assemble(ctx, key, parts)
}
