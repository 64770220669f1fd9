// SPDX-License-Identifier: Apache-2.0

// Package s3 is a store in a bucket of Amazon S3, or of a service with the same
// interface, such as MinIO, Ceph, Cloudflare R2 or Wasabi.
//
// Importing the package registers the scheme s3, so that locations such as
// "s3://bucket/era5.zarr/t2m" can be opened:
//
//	import _ "varve.dev/zarr/store/s3"
//
//	a, err := zarr.OpenArray(ctx, "s3://bucket/era5.zarr/t2m", nil)
//
// # Requests
//
// Reads are those of package httpstore, over a transport that signs them. A long read is
// made by several requests of [Options.PartSize] bytes. Writes, deletions and listings go
// over the same connections. Of the AWS SDK, the package has the signatures and the chain
// of credentials, and not the client, which is larger than all of package zarr. Values of
// more than four times PartSize are uploaded in parts, and become visible in one step.
//
// [store.Assemble], [store.Splice] and [store.Clone] let the service copy bytes between
// objects. Ranges of less than 5 MiB, which services do not copy, pass through memory.
//
// # Credentials, regions, endpoints
//
// A bucket is the name of a bucket, also of a directory bucket, the alias of an access
// point, or its ARN, "arn:aws:s3:REGION:ACCOUNT:accesspoint:NAME".
//
// Credentials come from [Options.Credentials] or from the SDK's chain: environment,
// shared files, single sign-on, containers and machines. If that finds none, reads are
// sent unsigned, as for [Options.Anonymous], unless the location is opened for writing.
// If it found some before, the read fails and is repeated. The region of a bucket is
// discovered when an answer names another one than expected. Redirections are not
// followed, so no other host gets a signed request.
//
// # Versions
//
// The version of a value is its ETag and, in buckets with versioning, its version ID.
//
// An ETag depends on the content. In a bucket without versioning, equal versions mean
// equal bytes, not the same write: Put and Assemble of the bytes that an object has keep
// its version. A write on the condition of a version always changes it. If the bytes
// stay, the object is written once more in another number of parts, on which the ETag
// depends too. So a rival that has read a chunk can neither replace nor delete the same
// bytes that the next writer has put there on a condition. But two such writes, or one of
// other bytes between, may bring back an earlier version, with equal bytes. Then a rival
// that has read the earlier object takes the present one for it.
//
// In a bucket with versioning every write has another version. The service compares the
// ETag alone when it writes on a condition; Splice and DeleteIf compare the version ID
// too, one request before. A value that stands for a claim, such as a lock, needs unique
// bytes. Documents and journals of this module have them.
//
// # Concurrent writers
//
// A service that ignores the conditions of writes would lose data. Before the first write
// on a condition, the package probes the bucket with a small object, unless it is
// Amazon's or [Options.Conditions] says what holds. If conditions are ignored, the error
// of such a write is [store.ErrUnsupported], and programs see
// zarr.ErrUnsafeConcurrentWrite.
//
// If the answer to a write on a condition is lost, the package looks whether the write
// took effect: each has a random mark in the object's metadata (varve-write). If that
// cannot be found out either, the error is neither [store.ErrConflict] nor
// ErrUnsupported, so the outcome is unknown.
//
// # Errors
//
// Errors name the operation, the bucket, the key, the error code of the service and its
// request ID, and say what to do. Without an answer they name the host and the cause. A
// missing bucket is [store.ErrNoBucket]. They never contain credentials.
package s3
