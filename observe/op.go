package observe

// Op is what was done.
type Op uint8

// What stores do, named as the methods of package store, and what codecs do.
const (
	Get      Op = iota // a value, or a range of it, was read
	Open               // a value was opened, to be read piece by piece
	Read               // a range of an opened value was read
	Stat               // size and version of a value were asked for
	List               // a directory was listed, for as long as the caller took entries
	Put                // a value was written
	PutIf              // a value was written on a condition
	Delete             // a value was removed
	DeleteIf           // a value was removed on a condition
	Splice             // a value was put together from its older version and new bytes
	Patch              // bytes within a value were overwritten
	Copy               // a value was copied without its bytes passing through the program
	Lock               // a lock was waited for
	Commit             // a batch was made durable

	Decode // a chunk was decoded; of a shard, an inner chunk
	Encode // a chunk was encoded; of a shard, an inner chunk

	Coalesce  // ranges of a shard, Count of them, were read as one
	IndexHit  // the index of a shard was known from before
	IndexMiss // the index of a shard had to be read

	ops // how many there are
)

var opNames = [ops]string{
	"get", "open", "read", "stat", "list", "put", "put_if", "delete", "delete_if", "splice", "patch", "copy", "lock", "commit",
	"decode", "encode", "coalesce", "index_hit", "index_miss",
}

// String returns the name of the operation in lower case, as "get" or "put_if".
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

// IsRequest reports whether a store did it, which takes time of input and output.
func (o Op) IsRequest() bool { return o <= Commit }

// IsCodec reports whether codecs did it, which takes time of a processor.
func (o Op) IsCodec() bool { return o == Decode || o == Encode }

// Reads reports whether the bytes of the event came out of a store.
func (o Op) Reads() bool { return o == Get || o == Read }

// Writes reports whether the bytes of the event went into a store.
func (o Op) Writes() bool { return o == Put || o == PutIf || o == Splice || o == Patch }
