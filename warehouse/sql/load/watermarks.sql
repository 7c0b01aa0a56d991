-- grain: journal
-- inputs: watermarks
-- law: every block up to the sequence is loaded
select journal, sequence from watermarks
