// SPDX-License-Identifier: Apache-2.0

// Package model compares random sequences of operations with the same operations on
// arrays without chunks.
package model
