// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package vfs

const nonblock = 0
