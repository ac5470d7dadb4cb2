"""A sample of source code in each language with a grammar, and the symbols it contains."""

from __future__ import annotations

import random
from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Sample:
    text: str
    symbols: list[tuple[str, int, int]]
    """The names, and the lines with what belongs above."""


def sample(text: str, *symbols: tuple[str, int, int]) -> Sample:
    return Sample(dedent(text).strip("\n") + "\n", list(symbols))


SOURCES = {
    "kettle.sh": sample(
        """
        #!/bin/sh

        # Boils.
        boil() {
          echo water
        }

        function pour { echo cup; }
        """,
        ("boil", 3, 6),
        ("pour", 8, 8),
    ),
    "kettle.c": sample(
        """
        #include <stdio.h>

        typedef struct {
            int litres;
        } Kettle;

        struct cup { int size; };

        enum heat { LOW, HIGH };

        /* Boils. */
        static int
        *boil(Kettle *kettle)
        {
            return &kettle->litres;
        }

        int (*pour(void))(int) { return 0; }

        int declared(void);
        """,
        ("Kettle", 3, 5),
        ("cup", 7, 7),
        ("heat", 9, 9),
        ("boil", 11, 16),
        ("pour", 18, 18),
    ),
    "kettle.h": sample(
        """
        #pragma once

        struct kettle {
            int litres;
        };

        int boil(struct kettle *kettle);
        """,
        ("kettle", 3, 5),
    ),
    "kettle.cpp": sample(
        """
        namespace kitchen {

        /// A kettle.
        template <typename Water,
                  typename Heat>
        class Kettle : public Pot {
         public:
          explicit Kettle(int litres) : litres_(litres) {}
          ~Kettle() {
            drain();
          }
          bool operator==(const Kettle& other) const { return true; }

         private:
          int litres_;
        };

        }  // namespace kitchen

        int kitchen::Kettle::boil() {
          return 1;
        }

        template <class T>
        const T& pour(T& cup) { return cup; }
        """,
        ("kitchen", 1, 18),
        ("kitchen > Kettle", 3, 16),
        ("kitchen > Kettle > Kettle", 8, 8),
        ("kitchen > Kettle > ~Kettle", 9, 11),
        ("kitchen > Kettle > operator==", 12, 12),
        ("kitchen > Kettle > boil", 20, 22),
        ("pour", 24, 25),
    ),
    "Kettle.cs": sample(
        """
        namespace Kitchen
        {
            /// <summary>A kettle.</summary>
            [Serializable]
            public class Kettle : IPot
            {
                public int Litres { get; set; }

                public Kettle(int litres)
                {
                    Litres = litres;
                }

                [Obsolete]
                public async Task<int> Boil()
                {
                    int Inner() { return 1; }
                    return Inner();
                }
            }

            public interface IPot { int Boil(); }

            enum Heat { Low, High }
        }
        """,
        ("Kitchen", 1, 25),
        ("Kitchen > Kettle", 3, 20),
        ("Kitchen > Kettle > Kettle", 9, 12),
        ("Kitchen > Kettle > Boil", 14, 19),
        ("Kitchen > Kettle > Boil > Inner", 17, 17),
        ("Kitchen > IPot", 22, 22),
        ("Kitchen > IPot > Boil", 22, 22),
        ("Kitchen > Heat", 24, 24),
    ),
    "kettle.go": sample(
        """
        package kitchen

        // Kettle boils.
        type Kettle struct {
            litres int
        }

        type (
            // Pot is a pot.
            Pot interface {
                Boil() error
            }
            Heat int
        )

        // Boil boils.
        func (k *Kettle) Boil() error {
            return nil
        }

        func (s Stack[T]) Push(value T) {}

        func main() {
            run := func() {}
            run()
        }
        """,
        ("Kettle", 3, 6),
        ("Pot", 9, 12),
        ("Heat", 13, 13),
        ("Kettle > Boil", 16, 19),
        ("Stack > Push", 21, 21),
        ("main", 23, 26),
    ),
    "Kettle.java": sample(
        """
        package kitchen;

        /** A kettle. */
        @Deprecated
        public final class Kettle<T> implements Pot {
            private int litres;

            public Kettle(int litres) {
                this.litres = litres;
            }

            @Override
            public int boil() {
                return new Heat() {
                    @Override
                    public int value() { return 1; }
                }.value();
            }

            enum Level {
                LOW, HIGH;

                Level next() { return HIGH; }
            }
        }

        interface Pot {
            int boil();
        }

        record Cup(int size) {}
        """,
        ("Kettle", 3, 25),
        ("Kettle > Kettle", 8, 10),
        ("Kettle > boil", 12, 18),
        ("Kettle > boil > value", 15, 16),
        ("Kettle > Level", 20, 24),
        ("Kettle > Level > next", 23, 23),
        ("Pot", 27, 29),
        ("Pot > boil", 28, 28),
        ("Cup", 31, 31),
    ),
    "kettle.js": sample(
        """
        'use strict'

        const fs = require('fs')

        /**
         * Boils.
         */
        export default class Kettle extends Pot {
          #litres = 1
          boil = () => 1

          static async *steam() {
            yield 1
          }

          get litres() { return this.#litres }
        }

        export const pour = async (cup) => {
          return cup
        }

        function* drops() {}

        Kettle.prototype.drain = function () {
          return 0
        }

        exports.wash = function wash() {}

        module.exports = {
          clean: function () {
            return 1
          },
          dry() {},
        }

        let unused = 1, used = function () {}

        app.use(function steep(cup) {
          return class Tea {}
        })
        """,
        ("Kettle", 5, 17),
        ("Kettle > boil", 10, 10),
        ("Kettle > steam", 12, 14),
        ("Kettle > litres", 16, 16),
        ("pour", 19, 21),
        ("drops", 23, 23),
        ("Kettle > drain", 25, 27),
        ("wash", 29, 29),
        ("clean", 32, 34),
        ("dry", 35, 35),
        ("used", 38, 38),
        ("steep", 40, 42),
        ("steep > Tea", 41, 41),
    ),
    "kettle.py": sample(
        '''
        """A kettle."""

        import os


        # Water.
        @dataclass
        class Kettle(Pot):
            """Boils."""

            litres: int = 1

            @property
            def size(self) -> int:
                return 1

            async def boil(self):
                def bubble():
                    pass

                return bubble


        def pour(): return 1


        if os.name == "nt":

            def wash():
                pass
        ''',
        ("Kettle", 6, 21),
        ("Kettle > size", 13, 15),
        ("Kettle > boil", 17, 21),
        ("Kettle > boil > bubble", 18, 19),
        ("pour", 24, 24),
        ("wash", 29, 30),
    ),
    "kettle.rb": sample(
        """
        # A kitchen.
        module Kitchen
          class Kettle < Pot
            attr_reader :litres

            # Boils.
            def boil!
              1
            end

            def self.pour(cup) = cup
          end
        end

        def wash
        end
        """,
        ("Kitchen", 1, 13),
        ("Kitchen > Kettle", 3, 12),
        ("Kitchen > Kettle > boil!", 6, 9),
        ("Kitchen > Kettle > pour", 11, 11),
        ("wash", 15, 16),
    ),
    "kettle.rs": sample(
        """
        //! A kitchen.

        use std::fmt;

        /// A kettle.
        #[derive(Debug)]
        pub struct Kettle<'a> {
            litres: &'a u32,
        }

        impl<'a> Kettle<'a> {
            /// Boils.
            #[inline]
            pub const fn boil(&self) -> u32 {
                1
            }
        }

        impl fmt::Display for Kettle<'_> {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { Ok(()) }
        }

        pub trait Pot {
            fn boil(&self);
            fn pour(&self) -> u32 { 1 }
        }

        enum Heat { Low }

        macro_rules! wash { () => {}; }

        #[cfg(test)]
        mod tests {
            #[test]
            fn boils() {}
        }
        """,
        ("Kettle", 5, 9),
        ("impl Kettle<'a>", 11, 17),
        ("impl Kettle<'a> > boil", 12, 16),
        ("impl fmt::Display for Kettle<'_>", 19, 21),
        ("impl fmt::Display for Kettle<'_> > fmt", 20, 20),
        ("Pot", 23, 26),
        ("Pot > boil", 24, 24),
        ("Pot > pour", 25, 25),
        ("Heat", 28, 28),
        ("wash", 30, 30),
        ("tests", 32, 36),
        ("tests > boils", 34, 35),
    ),
    "kettle.ts": sample(
        """
        export interface Pot<T> {
          boil(): T
        }

        @Component({
          selector: 'kettle',
        })
        export abstract class Kettle implements Pot<number> {
          private heat = (level: number): void => {}

          constructor(private litres: number) {}

          abstract pour(): void

          boil(): number {
            return 1
          }
        }

        export enum Heat { Low }

        type Cup = { size: number }

        namespace kitchen {
          export function wash(): void {}
        }

        declare module 'pots' {
          export function dry(): void
        }

        export function over(a: string): void
        export function over(a: unknown): void {}
        """,
        ("Pot", 1, 3),
        ("Pot > boil", 2, 2),
        ("Kettle", 5, 18),
        ("Kettle > heat", 9, 9),
        ("Kettle > constructor", 11, 11),
        ("Kettle > pour", 13, 13),
        ("Kettle > boil", 15, 17),
        ("Heat", 20, 20),
        ("Cup", 22, 22),
        ("kitchen", 24, 26),
        ("kitchen > wash", 25, 25),
        ("pots", 28, 30),
        ("pots > dry", 29, 29),
        ("over", 32, 32),
        ("over", 33, 33),
    ),
    "Kettle.tsx": sample(
        """
        export const Kettle: FC<Props> = ({ litres }) => {
          const boil = () => 1
          return <button onClick={boil}>{litres}</button>
        }

        export default function Page() {
          return <Kettle litres={1} />
        }
        """,
        ("Kettle", 1, 4),
        ("Kettle > boil", 2, 2),
        ("Page", 6, 8),
    ),
}


def hostile_sources() -> dict[str, bytes]:
    """Twenty files, each of which harms or deceives its reader. Their names tell how."""
    dice = random.Random(17)
    signs = "(){}[]<>;:,.=+-*/&|~#@'\"\\ abcfnif"
    noise = "\n".join("".join(dice.choices(signs, k=100)) for _ in range(9_000))
    return {
        "binary.c": b"int main() { return 0; }\n\0\1\2" * 100,
        "brackets.c": b"(\n" * 100_000,
        "brackets.js": b"[{(\n" * 33_000 + b"\n",
        "bom.py": "\ufeffdef boil():\n    return 1\n".encode(),
        "classes.java": b"class A {\n" * 50_000,
        "comment.js": b"/*\n" * 100_000,
        "empty.py": b"",
        "escape.json": b'"\x1b]0;owned\x07' + b"\x1b[2J" * 500 + b'"',
        "generated.go": b"// Code generated by stringer; DO NOT EDIT.\n\npackage a\n",
        "generated.py": b"# -*- coding: utf-8 -*-\n# Generated by the compiler.  DO NOT EDIT!\n",
        "invalid.rb": b"# \xff\xfe\xc3\x28 caf\xe9\ndef boil\n  1\nend\n",
        "large.json": b'{"a": 1},\n' * 30_000,
        "long_line.js": b"x = 1;" * 900_000,
        "long_line.ts": b"let x = 1;\n" * 200 + b"x" * 20_000,
        "minified.js": b"function(a,b){return a+b};" * 2_000,
        "noise.c": dice.randbytes(2_000_000).replace(b"\0", b"\1"),
        "noise.js": dice.randbytes(2_000_000).replace(b"\0", b"\1"),
        "package-lock.json": b'{"lockfileVersion": 3}\n',
        "tokens.cpp": noise.encode(),
        "utf16.cs": "class Kettle\n{\n    void Boil() {}\n}\n".encode("utf-16"),
    }
