// SPDX-License-Identifier: Apache-2.0

// Package shards reads, writes, checks, compacts and damages shards, and counts their
// requests.
package shards
