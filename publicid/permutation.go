package publicid

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/uidring/uidring"
)

const rounds = 10

// A permutation is the mask of a kind with one key. The package comment describes it.
type permutation struct{ block cipher.Block }

func newPermutation(key []byte, kind string) *permutation {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(kind))
	block, err := aes.NewCipher(mac.Sum(nil)[:16])
	if err != nil {
		panic("bug: " + err.Error()) // 16 bytes are a key of AES-128
	}
	return &permutation{block}
}

// blocks are the blocks of calls under way: as variables of the caller they would be allocated by
// each call of an interface.
var blocks = sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}

func (p *permutation) mask(id uidring.ID) uidring.ID {
	block := blocks.Get().(*[aes.BlockSize]byte)
	upper, lower := uint32(id>>32), uint32(id)
	for round := byte(0); round < rounds; round += 2 {
		upper ^= p.f(block, round, lower) >> 1
		lower ^= p.f(block, round+1, upper)
	}
	blocks.Put(block)
	return uidring.ID(upper)<<32 | uidring.ID(lower)
}

func (p *permutation) unmask(face uidring.ID) uidring.ID {
	block := blocks.Get().(*[aes.BlockSize]byte)
	upper, lower := uint32(face>>32), uint32(face)
	for round := byte(rounds); round > 0; round -= 2 {
		lower ^= p.f(block, round-1, upper)
		upper ^= p.f(block, round-2, lower) >> 1
	}
	blocks.Put(block)
	return uidring.ID(upper)<<32 | uidring.ID(lower)
}

// f is the function of a round.
func (p *permutation) f(block *[aes.BlockSize]byte, round byte, half uint32) uint32 {
	*block = [aes.BlockSize]byte{0: round}
	binary.BigEndian.PutUint32(block[12:], half)
	p.block.Encrypt(block[:], block[:])
	return binary.BigEndian.Uint32(block[:])
}
