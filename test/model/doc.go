// SPDX-License-Identifier: Apache-2.0

// Package model compares random sequences of operations with arrays that have no chunks.
package model
