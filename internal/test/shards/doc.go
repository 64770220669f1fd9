// SPDX-License-Identifier: Apache-2.0

// Package shards tests reading, writing, checking and compacting shards, damaged shards,
// and the requests that shards take.
package shards
