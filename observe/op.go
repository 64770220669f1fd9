// SPDX-License-Identifier: Apache-2.0

package observe

// Op is an operation.
type Op uint8

// Operations of stores, named after the methods of package store, and operations of
// codecs.
const (
	Get      Op = iota // a value, or a range of it, was read
	Open               // a value was opened to be read in pieces
	Read               // a range of an opened value was read
	Stat               // size and version of a value were requested
	List               // a directory was listed, for as long as the caller took entries
	Put                // a value was written
	PutIf              // a value was written on a condition
	Delete             // a value was removed
	DeleteIf           // a value was removed on a condition
	Splice             // a value was made of its older version and new bytes
	Assemble           // a value was made of ranges of other values and new bytes
	Patch              // bytes within a value were overwritten
	Copy               // a value was copied without passing through this program
	Clone              // a value was stored under another key as well; Bytes are those that were copied
	Lock               // a lock was acquired, or the wait for it failed
	Commit             // a batch was made durable

	Decode // a chunk, or an inner chunk of a shard, was decoded
	Encode // a chunk, or an inner chunk of a shard, was encoded

	Coalesce  // Count ranges of a shard were read as one
	IndexHit  // the index of a shard was in the cache
	IndexMiss // the index of a shard was read

	ops // number of operations
)

var opNames = [ops]string{
	"get", "open", "read", "stat", "list", "put", "put_if", "delete", "delete_if", "splice", "assemble", "patch", "copy", "clone", "lock", "commit",
	"decode", "encode", "coalesce", "index_hit", "index_miss",
}

// String returns the name of the operation in lower case, such as "get" or "put_if".
func (o Op) String() string {
	if o < ops {
		return opNames[o]
	}
	return "unknown"
}

// Ops returns all operations in order.
func Ops() []Op {
	all := make([]Op, ops)
	for i := range all {
		all[i] = Op(i)
	}
	return all
}

// IsRequest reports whether the operation is a request to a store, whose time is spent in
// I/O.
func (o Op) IsRequest() bool { return o <= Commit }

// IsCodec reports whether the operation is the work of codecs, whose time is spent in the
// processor.
func (o Op) IsCodec() bool { return o == Decode || o == Encode }

// Reads reports whether the bytes of the event were read from a store.
func (o Op) Reads() bool { return o == Get || o == Read }

// Copies reports whether the bytes of the event were copied without passing through this
// program.
func (o Op) Copies() bool { return o == Copy || o == Clone }

// Writes reports whether the bytes of the event were written to a store.
func (o Op) Writes() bool {
	return o == Put || o == PutIf || o == Splice || o == Assemble || o == Patch
}
